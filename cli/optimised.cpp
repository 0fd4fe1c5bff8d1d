#include "cli/optimised.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/choice.h"
#include "cli/failure.h"
#include "cli/input.h"
#include "cli/numbers.h"
#include "load/layer_costs.h"
#include "load/shorten.h"
#include "optimise/placed_model.h"
#include "simulate/amount.h"
#include "simulate/rank_costs.h"
#include "spec/elaborate.h"

namespace ripeline::cli {
namespace {

using optimise::PlacedModel;
using optimise::Problem;
using simulate::amount_in;
using simulate::Dimension;

constexpr std::int64_t kMostTasks = 1'000'000;
constexpr int kUsualRanks = 4;
constexpr int kUsualMicrobatches = 8;
constexpr int kMostChunks = PlacedModel::kMostChunks;
constexpr int kMostTriedChunks = 4;  // by --placement any

spec::Result<std::optional<PlacedModel::Bytes>> read_activation(
    const std::vector<std::string>& texts, bool whole_backward) {
  if (texts.empty()) return std::optional<PlacedModel::Bytes>();
  constexpr std::int64_t kMost = 1'000'000'000;           // without a unit
  constexpr std::int64_t kMostBytes = 1'000'000'000'000;  // so that those of all tasks fit, too
  PlacedModel::Bytes bytes;
  std::int64_t* const numbers[] = {&bytes.activation, &bytes.after_input};
  bool read = texts.size() == (whole_backward ? 1U : 2U);
  std::optional<Dimension> dimension;
  for (std::size_t i = 0; read && i < texts.size(); ++i) {
    const auto amount = amount_in(texts[i]);
    read = amount && amount->dimension != Dimension::time &&
           (amount->base.denominator == 1 || amount->dimension == Dimension::bytes) &&
           dimension.value_or(amount->dimension) == amount->dimension;
    if (!read) break;
    dimension = amount->dimension;
    *numbers[i] = amount->base.numerator / amount->base.denominator;  // whole bytes
    if (i == 0) bytes.unit = amount->unit;
  }
  if (whole_backward) bytes.after_input = bytes.activation;
  if (read && bytes.activation <= (bytes.unit.empty() ? kMost : kMostBytes) &&
      bytes.after_input >= 1 && bytes.after_input <= bytes.activation) {
    return std::optional(bytes);
  }
  if (whole_backward) {
    return failure(
        "--activation: expected A: what a microbatch holds in all of a rank's layers from F to the "
        "end of its whole backward, bytes as in 1.9GB or a whole number from 1 to 1e9 in the unit "
        "of "
        "--memory, as in 100");
  }
  return failure(
      "--activation: expected A,AFTER_I: what a microbatch holds in all of a rank's layers from F "
      "on, and what of it is left after I, bytes as in 1.9GB,0.3GB or whole numbers from 1 to 1e9 "
      "in the unit of --memory, the second one not the larger, as in 100,43");
}

// The room of a rank, in the unit of what a microbatch holds.
spec::Result<spec::Rational> read_memory(const std::string& text, int ranks,
                                         const std::optional<PlacedModel::Bytes>& bytes) {
  const std::int64_t each = bytes ? bytes->activation : 1;
  if (text.empty()) return spec::Rational{ranks * each, 1};
  const bool in_bytes = bytes && !bytes->unit.empty();
  const auto memory = amount_in(text);
  const Dimension wanted = in_bytes ? Dimension::bytes : Dimension::none;
  if (memory && memory->base.numerator > 0 && memory->dimension == wanted) return memory->base;
  if (memory && memory->dimension == Dimension::bytes) {
    return failure(fmt::format(
        "--memory {}: bytes need what a microbatch holds, in bytes too: --activation A,AFTER_I, as "
        "in --activation 1.9GB,0.3GB",
        load::shortened(text)));
  }
  return failure(in_bytes ? "--memory: expected bytes, as those of --activation, as in 24GB"
                          : "--memory: expected how many microbatches a rank may hold in all of "
                            "its layers, a number above 0, as in 7 or 2.5; with --activation, in "
                            "its unit");
}

spec::Diagnostics errors_of(std::string sentence) { return {failure(std::move(sentence))}; }

// A flag as it is written; none: empty.
std::string number_flag(const char* flag, const std::optional<double>& value) {
  return value ? fmt::format(" {} {:.12g}", flag, *value) : "";
}
// Those that say more of links than their latency.
std::string bandwidth_flags(const simulate::TimingOptions& times) {
  return number_flag("--bandwidth", times.bytes_per_second) +
         number_flag("--bytes", times.message_bytes) + number_flag("--control", times.control);
}

// A model that flags describe, on one placement or several.
class PlacedModels {
 public:
  explicit PlacedModels(const OptimisedFlags& flags) : flags_(flags) {}

  spec::Result<Optimised> read() {
    if (const auto s = read_model(); !s.ok()) return s.errors();
    const Placements placement = flags_.placement.value_or(Placements::chain);
    std::vector<std::pair<PlacedModel::Placement, int>> wanted;
    if (placement == Placements::chain || placement == Placements::any) {
      wanted.emplace_back(PlacedModel::Placement::chain, 1);
    }
    if (placement == Placements::loop) {
      wanted.emplace_back(PlacedModel::Placement::loop, flags_.chunks.value_or(2));
    }
    if (placement == Placements::any) {
      for (int chunks = 2; chunks <= kMostTriedChunks; ++chunks) {
        wanted.emplace_back(PlacedModel::Placement::loop, chunks);
      }
    }
    if (placement == Placements::v || placement == Placements::any) {
      wanted.emplace_back(PlacedModel::Placement::v, 2);
    }
    for (const auto& [where, chunks] : wanted) {
      const int stages = chunks * model_.ranks;
      if (!layers_.empty() && static_cast<int>(layers_.size()) < stages) {
        const std::string fewer =
            fmt::format("{} has {} layers, fewer than the {} stages of placement {}",
                        flags_.times.profile, layers_.size(), stages, name_of(where, chunks));
        if (placement != Placements::any || chunks == 1) return errors_of(fewer);
        optimised_.notes.push_back("not tried: " + fewer);
        continue;
      }
      if (const auto s = add(where, chunks); !s.ok()) return s.errors();
    }
    describe();
    optimised_.times = times_;
    return std::move(optimised_);
  }

 private:
  spec::Result<void> read_model() {
    const auto count = one_count(flags_.microbatches);
    if (!count.ok()) return count.errors();
    const auto times = read_timing(flags_.times);
    if (!times.ok()) return times.errors();
    times_ = times.value();
    if (const auto s = times_.profile ? read_profile() : read_even(); !s.ok()) return s.errors();
    const auto bytes = read_activation(flags_.activation, model_.whole_backward);
    if (!bytes.ok()) return bytes.errors();
    model_.ranks = flags_.ranks.value_or(kUsualRanks);
    model_.microbatches = count.value().value_or(kUsualMicrobatches);
    model_.bytes = bytes.value();
    const auto memory = read_memory(flags_.memory, model_.ranks, model_.bytes);
    if (!memory.ok()) return memory.errors();
    model_.memory = memory.value();
    if (flags_.chunks && flags_.placement != Placements::loop) {
      return errors_of("--chunks: only --placement loop has a number of stages to choose");
    }
    return {};
  }

  spec::Result<void> read_even() {
    const auto read = load::read_even_costs(costs(), times_.unit);
    if (!read.ok()) return read.errors();
    of_rank_ = read.value().of_rank;
    model_.whole_backward = read.value().whole_backward;
    if (times_.rank_costs || times_.latency) {
      return errors_of(
          "--rank-costs and --latency are for a FILE or a profile of layers: --costs has the costs "
          "and the latency");
    }
    times_.latency = read.value().latency.value();
    return {};
  }

  spec::Result<void> read_profile() {
    if (!flags_.costs.empty() || times_.rank_costs) {
      return errors_of("--profile has the costs of the layers: leave out --costs and --rank-costs");
    }
    const simulate::Profile& profile = *times_.profile;
    model_.whole_backward = load::has_whole_backwards(profile);
    auto layers = load::read_layers(profile, flags_.times.profile);
    if (!layers.ok()) return layers.errors();
    layers_ = std::move(layers).value();
    if (times_.unit && times_.unit->name != profile.unit.name) {
      return errors_of(fmt::format("--unit: {} is in {}", flags_.times.profile, profile.unit.name));
    }
    times_.unit = profile.unit;
    if (times_.bytes_per_second && !times_.message_bytes) {
      return errors_of("--bandwidth needs --bytes, the size of a message");
    }
    if (!times_.latency) {
      times_.latency = load::latency_of(profile);
      if (!times_.latency) {
        optimised_.notes.push_back(flags_.times.profile +
                                   " has no links: messages take no time; --latency says what they "
                                   "take");
        times_.latency = 0;
      }
    }
    if (const std::string rest = load::left_out_of(profile); !rest.empty()) {
      optimised_.notes.push_back(fmt::format("of {} these are not looked at without a FILE: {}",
                                             flags_.times.profile, rest));
    }
    times_.profile.reset();  // the program has the costs
    return {};
  }

  spec::Result<void> add(PlacedModel::Placement placement, int chunks) {
    PlacedModel model = model_;
    model.placement = placement;
    model.chunks = chunks;
    const std::int64_t lanes = std::int64_t{3} * chunks * model.ranks;
    if (lanes > kMostTasks / model.microbatches) {
      return errors_of(
          fmt::format("--ranks and -m: more than {} tasks are not searched", kMostTasks));
    }
    model.layers = layers_.empty() ? even_layers(of_rank_, model.ranks, chunks) : layers_;
    return optimise::add_forms(model, !layers_.empty(), times_, flags_.objective, optimised_);
  }

  [[nodiscard]] std::vector<std::string> costs() const {
    return flags_.costs.empty() ? std::vector<std::string>{"1", "1", "1", "0"} : flags_.costs;
  }

  void describe() {
    const std::string written = fmt::format("{}", fmt::join(costs(), ","));
    std::string& command = optimised_.command;
    command = fmt::format("--ranks {} -m {}", model_.ranks, model_.microbatches);
    if (layers_.empty()) {
      optimised_.model = "costs " + written;
      optimised_.flags = fmt::format("--latency {:.12g}", *times_.latency);
      if (times_.unit) optimised_.flags += " --unit " + times_.unit->name;
      command += " --costs " + written;
    } else {
      optimised_.model = fmt::format("{} layers of {}", layers_.size(), flags_.times.profile);
      optimised_.flags =
          fmt::format("--unit {} --latency {:.12g}", times_.unit->name, *times_.latency);
      command +=
          fmt::format(" --profile {} --latency {:.12g}", flags_.times.profile, *times_.latency);
    }
    const std::string links = bandwidth_flags(times_);
    optimised_.flags += links;
    command += links;
    if (!flags_.activation.empty()) {
      command += fmt::format(" --activation {}", fmt::join(flags_.activation, ","));
    }
    if (!flags_.memory.empty()) command += " --memory " + flags_.memory;
    constexpr const char* kNames[] = {"chain", "loop", "v", "any"};
    command +=
        fmt::format(" --placement {}",
                    kNames[static_cast<std::size_t>(flags_.placement.value_or(Placements::chain))]);
    if (flags_.chunks) command += fmt::format(" --chunks {}", *flags_.chunks);
  }

  const OptimisedFlags& flags_;
  PlacedModel model_;
  PlacedModel::Costs of_rank_;              // for layers that are all alike
  std::vector<PlacedModel::Costs> layers_;  // else
  simulate::TimingOptions times_;
  Optimised optimised_;
};

std::optional<pytorch::Placement> placement_of(Placements placement) {
  switch (placement) {
    case Placements::chain:
      return pytorch::Placement::chain;
    case Placements::loop:
      return pytorch::Placement::loop;
    case Placements::v:
      return pytorch::Placement::v;
    case Placements::any:
      break;
  }
  return std::nullopt;
}

// The program, its step, and the text that it was made of.
struct ReadProgram {
  load::LoadedProgram loaded;
  GivenProgram given;
};
spec::Result<ReadProgram> read_file_of(const OptimisedFlags& flags) {
  if (flags.ranks || !flags.costs.empty() || !flags.memory.empty() || !flags.activation.empty() ||
      flags.chunks) {
    return errors_of(
        "--ranks, --costs, --memory, --activation and --chunks describe a model; with a "
        "FILE, its text has them: -D sets its params, --rank-costs and --profile its costs");
  }
  load::ProgramOptions options;
  options.defines = flags.defines;
  options.dispatch = flags.dispatch;
  if (flags.placement) options.placement = placement_of(*flags.placement);
  if (flags.placement && !options.placement) {
    return errors_of("--placement any: a FILE has one placement");
  }
  auto loaded = load_program(flags.file, of_step(options, flags.microbatches));
  if (!loaded.ok()) return spec::Diagnostics();  // said already
  ReadProgram read{.loaded = std::move(loaded).value(), .given = {}};
  const auto count = count_of_step(flags.microbatches, read.loaded.program);
  if (!count.ok()) return count.errors();
  const auto times = read_timing(flags.times);
  if (!times.ok()) return times.errors();
  read.given.program = load::for_one_count(read.loaded.program, count.value());
  read.given.microbatches = count.value();
  read.given.times = times.value();
  const auto simulated = check_simulated(read.given.program);
  if (!simulated.ok()) return simulated.errors();
  return read;
}

spec::Result<Optimised> read_program(const OptimisedFlags& flags) {
  auto read = read_file_of(flags);
  if (!read.ok()) return read.errors();
  const load::LoadedProgram& loaded = read.value().loaded;
  const GivenProgram& given = read.value().given;
  const spec::Program& program = given.program;
  const auto tasks = [&] {
    std::int64_t sum = 0;
    for (int l = 0; l < size_of(program.lanes); ++l) sum += program.tasks_of(l, given.microbatches);
    return sum;
  };
  if (tasks() > kMostTasks) {
    return errors_of(fmt::format("-m: more than {} tasks are not searched", kMostTasks));
  }
  auto problem =
      Problem::make(program, given.microbatches, simulate::means_of(given.times), flags.objective);
  if (!problem.ok()) return problem.errors();
  Optimised optimised;
  optimised.read_file = loaded.options.read_file;
  optimised.times = given.times;
  optimised.forms.push_back({"", loaded.source, std::move(problem).value(), true});
  optimised.parts = {1};
  optimised.command = flags.file;
  for (const std::string& define : flags.defines) optimised.command += " -D " + define;
  optimised.command += fmt::format(" -m {}", given.microbatches);
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) optimised.flags += fmt::format(" {} {}", flag, value);
  };
  add("--rank-costs", flags.times.rank_costs.value_or(""));
  add("--profile", flags.times.profile);
  add("--unit", flags.times.unit);
  add("--latency", flags.times.latency);
  optimised.flags += bandwidth_flags(given.times);
  optimised.command += optimised.flags;
  if (!optimised.flags.empty()) optimised.flags.erase(0, 1);
  return optimised;
}

}  // namespace

void add_optimised(CLI::App& command, OptimisedFlags& flags) {
  command.add_option("FILE", flags.file,
                     std::string(kFileHelp) + "; without it, a model that flags describe");
  command.add_option("-D", flags.defines, "set a param of FILE, e.g. -D ranks=8")
      ->type_name("K=V")
      ->allow_extra_args(false);
  command
      .add_option("--dispatch", flags.dispatch,
                  "what FILE dispatches by, instead of what it says, e.g. \"ready by bf\"")
      ->type_name("TEXT");
  add_microbatches(command, flags.microbatches, "microbatches of the step (without FILE, 8)");
  const std::size_t before = command.get_options().size();
  command.add_option("--ranks", flags.ranks, "ranks (4)")->check(integer_from(1, 1024));
  command
      .add_option("--costs", flags.costs,
                  "of all of a rank's layers, for one microbatch: forward, backward for the input, "
                  "backward for the weights; and the latency of a message between ranks (1,1,1,0). "
                  "F=1,B=2,C=0: with a whole backward")
      ->type_name("F,I,W,C")
      ->delimiter(',');
  command
      .add_option(
          "--memory", flags.memory,
          "microbatches that a rank may hold in all of its layers, each from F to W (as many as "
          "there are ranks, which is what 1F1B holds); with --activation in its unit, as 24GB. A "
          "range, as 4..8: the best time for each")
      ->type_name("N or A..B");
  command
      .add_option(
          "--activation", flags.activation,
          "what a microbatch holds in all of a rank's layers from F on, and what is left of "
          "it from the end of I to that of W: bytes, as 1.9GB,0.3GB, or whole numbers in any unit. "
          "Of whole backwards A alone")
      ->type_name("A,AFTER_I")
      ->delimiter(',');
  add_choice<std::optional<Placements>, Placements>(
      command, "--placement", flags.placement,
      {{"chain", Placements::chain},
       {"loop", Placements::loop},
       {"v", Placements::v},
       {"any", Placements::any}},
      "chain: one stage on a rank; loop: --chunks stages, down the ranks and again from rank 0; v: "
      "two, down the ranks and back up; any: the best of chain, v and loops of 2 to 4 (chain). Of "
      "a "
      "CSV: which rank owns a stage");
  command.add_option("--chunks", flags.chunks, "stages on a rank, of a loop (2)")
      ->check(integer_from(2, kMostChunks));
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group("A model, without FILE");
  add_times(command, flags.times);
}

spec::Result<GivenProgram> read_given(const OptimisedFlags& flags) {
  if (flags.file.empty()) {
    return said(spec::Result<GivenProgram>(
        errors_of("--orders given: expected a FILE, whose orders and hints are compared")));
  }
  auto read = said(read_file_of(flags));
  if (!read.ok()) return read.errors();
  return std::move(read).value().given;
}

spec::Result<Optimised> read_optimised(const OptimisedFlags& flags) {
  if (!flags.file.empty()) return said(read_program(flags));
  if (!flags.defines.empty() || !flags.dispatch.empty()) {
    return said(
        spec::Result<Optimised>(errors_of("-D and --dispatch are of a FILE: expected one")));
  }
  return said(PlacedModels(flags).read());
}

}  // namespace ripeline::cli
