// ripeline optimise: the best order of F, I and W for given costs and memory, and how far from the
// best possible it is at most.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/microbatch_flag.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/picture_flags.h"
#include "cli/pictures.h"
#include "optimise/bounds/bounds.h"
#include "optimise/certified.h"
#include "optimise/search/search.h"
#include "optimise/uniform.h"
#include "simulate/rank_costs.h"
#include "simulate/report.h"

namespace ripeline::cli {
namespace {

using optimise::Objective;
using optimise::Uniform;
using spec::Placement;

constexpr std::int64_t kMostTasks = 1'000'000;
constexpr std::int64_t kMostTime = 1'000'000'000'000;  // of a rank's work
constexpr std::size_t kMostDecimals = 4;               // so that nanoseconds of a millisecond do
constexpr int kUsualMicrobatches = 8;

enum class Placements : unsigned char { chain, v, any };

struct OptimiseCommand {
  int ranks = 4;
  std::optional<Counts> microbatches;
  std::vector<std::string> costs = {"1", "1", "1", "0"};
  std::string memory;  // empty: what 1F1B holds
  Placements placement = Placements::chain;
  Objective objective = Objective::wall;
  double seconds = 10;
  std::uint64_t seed = 1;
  std::string output;
  PictureFlags picture;
  std::string format = "text";
};

// One placement to search.
struct Setup {
  const char* name;
  Uniform problem;
  std::int64_t unit = 1;       // so many of the problem's times are 1 in what is said
  optimise::Bound bound = {};  // no order on this placement is below it
};

struct Step {
  double seconds = 0;
  double value = 0;
  double bound = 0;
  std::string method;
};

struct Best {
  const Setup* setup = nullptr;
  optimise::FoundOrder order;
};

// Of a rank.
int stages_of(const Uniform& problem) { return problem.placement == Placement::v ? 2 : 1; }

// A forward of each of its stages before the first input gradient: what any order needs.
int least_memory(const Uniform& problem) { return stages_of(problem); }

// ---- What was asked for.

spec::Result<std::vector<std::int64_t>> read_costs(const std::vector<std::string>& texts,
                                                   std::int64_t& denominator) {
  const auto expected = failure(fmt::format(
      "--costs: expected F,I,W,LATENCY: three numbers above 0 and one of 0 or more, below 1e9 and "
      "with up to {} decimals, as in 24,23,12,0.5",
      kMostDecimals));
  std::vector<spec::Rational> costs;
  denominator = 1;
  for (const std::string& text : texts) {
    const auto cost = simulate::decimal(text);
    const std::size_t point = std::min(text.find('.'), text.size());
    if (!cost || text.size() - point > kMostDecimals + 1) return expected;
    costs.push_back(*cost);
    std::int64_t power = 1;
    for (std::size_t i = point + 1; i < text.size(); ++i) power *= 10;
    denominator = std::max(denominator, power);
  }
  if (costs.size() != 4) return expected;
  std::vector<std::int64_t> scaled;
  for (const spec::Rational& cost : costs) {
    scaled.push_back(cost.numerator * (denominator / cost.denominator));
  }
  if (*std::min_element(scaled.begin(), scaled.begin() + 3) <= 0) return expected;
  return scaled;
}

spec::Result<std::vector<Setup>> setups_of(const OptimiseCommand& command) {
  const auto count = one_count(command.microbatches);
  if (!count.ok()) return count.errors();
  std::int64_t denominator = 1;
  const auto costs = read_costs(command.costs, denominator);
  if (!costs.ok()) return costs.errors();
  const auto memory = command.memory.empty() ? std::optional(spec::Rational{command.ranks, 1})
                                             : simulate::decimal(command.memory);
  if (!memory || memory->numerator <= 0) {
    return failure(
        "--memory: expected how many activations of all its layers a rank may hold, a number above "
        "0, as in 7 or 2.5");
  }
  std::vector<Setup> setups;
  const auto add = [&](const char* name, Placement placement, int stages) {
    Setup setup{name, {}, stages * denominator};
    Uniform& problem = setup.problem;
    problem.placement = placement;
    problem.ranks = command.ranks;
    problem.microbatches = count.value().value_or(kUsualMicrobatches);
    problem.forward = costs.value()[0];
    problem.input = costs.value()[1];
    problem.weight = costs.value()[2];
    problem.latency = costs.value()[3] * stages;
    const std::int64_t room = stages * memory->numerator / memory->denominator;
    const std::int64_t most = static_cast<std::int64_t>(stages) * problem.microbatches;
    problem.memory = static_cast<int>(std::min(room, most));
    setups.push_back(setup);
  };
  if (command.placement != Placements::v) add("chain", Placement::chain, 1);
  if (command.placement != Placements::chain) add("v", Placement::v, 2);
  for (const Setup& setup : setups) {
    const Uniform& problem = setup.problem;
    const std::int64_t stages = stages_of(problem);
    if (3 * stages * problem.ranks > kMostTasks / problem.microbatches) {
      return failure(
          fmt::format("--ranks and -m: more than {} tasks are not searched", kMostTasks));
    }
    const std::int64_t task =
        std::max({problem.forward, problem.input, problem.weight, problem.latency});
    if (task > kMostTime / (3 * stages * problem.microbatches)) {
      return failure(fmt::format("--costs: the work of a rank is beyond {:g}; take a larger unit",
                                 static_cast<double>(kMostTime)));
    }
  }
  for (Setup& setup : setups) {
    if (setup.problem.memory < least_memory(setup.problem)) continue;
    setup.bound = optimise::lower_bound(setup.problem, command.objective);
  }
  return setups;
}

// ---- The search.

std::atomic<bool> interrupted{false};

// While it lives, Ctrl-C ends the search rather than the program.
class Interrupt {
 public:
  Interrupt() : before_(std::signal(SIGINT, [](int) { interrupted = true; })) {}
  ~Interrupt() { std::signal(SIGINT, before_); }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  void (*before_)(int);
};

std::int64_t value_of(const optimise::FoundOrder& order, Objective objective) {
  return objective == Objective::wall ? order.wall : order.span;
}

std::string number(double value) { return fmt::format("{:.12g}", value); }
double in_units(std::int64_t time, const Setup& setup) {
  return static_cast<double>(time) / static_cast<double>(setup.unit);
}
double gap_of(double value, double bound) { return (value - bound) / value; }
const char* name_of(Objective objective) { return objective == Objective::wall ? "wall" : "span"; }

class Search {
 public:
  explicit Search(const OptimiseCommand& command) : command_(command) {}

  // Of several placements each is tried for a while, and the one that is then best has the rest of
  // the time.
  void run(const std::vector<Setup>& setups) {
    constexpr double kTrial = .1;  // of the time
    const Interrupt interrupt;
    for (const Setup& setup : setups) {
      if (setups.size() > 1) search(setup, seconds() + kTrial * command_.seconds);
    }
    search(best_ ? *best_->setup : setups.back(), command_.seconds);
  }

  [[nodiscard]] const std::optional<Best>& best() const { return best_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }

 private:
  [[nodiscard]] double best_value() const {
    return in_units(value_of(best_->order, command_.objective), *best_->setup);
  }

  // Until `end`, or until nothing better is possible.
  void search(const Setup& setup, double end) {
    if (setup.problem.memory < least_memory(setup.problem)) return;
    if (best_ && in_units(setup.bound.value, setup) >= best_value()) return;
    optimise::search(
        setup.problem, command_.objective, setup.bound.value,
        {.go_on = [&] { return !interrupted && seconds() < end; }, .seed = command_.seed},
        [&](const optimise::FoundOrder& order, std::string_view method) {
          add(setup, order, method);
        });
  }

  void add(const Setup& setup, const optimise::FoundOrder& order, std::string_view method) {
    const double value = in_units(value_of(order, command_.objective), setup);
    if (best_ && value == best_value() && best_->setup == &setup) best_->order = order;
    if (best_ && value >= best_value()) return;  // better by the other measure at most
    best_ = Best{&setup, order};
    const double bound = in_units(setup.bound.value, setup);
    steps_.push_back({seconds(), value, bound, fmt::format("{}, {}", setup.name, method)});
    std::cerr << fmt::format("{:>7.2f} s  {} {:<10} bound {:<10} gap {:>6.2f} %  {}\n",
                             steps_.back().seconds, name_of(command_.objective), number(value),
                             number(bound), 100 * gap_of(value, bound), steps_.back().method);
  }

  const OptimiseCommand& command_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::optional<Best> best_;
  std::vector<Step> steps_;
};

// ---- What is said.

std::string command_text(const OptimiseCommand& command, const Setup& setup) {
  std::string text = fmt::format("ripeline optimise --ranks {} -m {} --costs {}", command.ranks,
                                 setup.problem.microbatches, fmt::join(command.costs, ","));
  if (!command.memory.empty()) text += " --memory " + command.memory;
  text += fmt::format(" --placement {}", command.placement == Placements::any ? "any" : setup.name);
  if (command.objective == Objective::span) text += " --objective span";
  return text + (command.seed != 1 ? fmt::format(" --seed {}", command.seed) : "");
}

std::string activations(const Setup& setup, int chunks) {
  const int stages = stages_of(setup.problem);
  return fmt::format("{:g} activation{}", static_cast<double>(chunks) / stages,
                     chunks == stages ? "" : "s");
}

// What was found, in a few sentences.
std::vector<std::string> summary(const OptimiseCommand& command, const Best& best) {
  const Setup& setup = *best.setup;
  const optimise::Bound& bound = setup.bound;
  const Uniform& problem = setup.problem;
  const std::int64_t stages = stages_of(problem);
  const std::int64_t work =
      stages * problem.microbatches * (problem.forward + problem.input + problem.weight);
  const auto measure = [&](const char* name, std::int64_t time) {
    return fmt::format("{} {} (bubble {}, {:.2f} %)", name, number(in_units(time, setup)),
                       number(in_units(time - work, setup)),
                       100 * gap_of(static_cast<double>(time), static_cast<double>(work)));
  };
  const std::int64_t value = value_of(best.order, command.objective);
  const char* name = name_of(command.objective);
  const std::string shown = number(in_units(bound.value, setup));
  std::vector<std::string> lines = {
      fmt::format("{} ranks, {} microbatches, placement {}; a rank holds at most {}", problem.ranks,
                  problem.microbatches, setup.name, activations(setup, best.order.peak)),
      measure("wall", best.order.wall) + "; " + measure("span", best.order.span)};
  if (value == bound.value) {
    lines.push_back(fmt::format("optimal: no order on this placement has a {} below {} ({})", name,
                                shown, bound.by));
  } else {
    lines.push_back(fmt::format(
        "no order on this placement has a {} below {} ({}): what was found is at most {:.2f} % "
        "above the best",
        name, shown, bound.by,
        100 * gap_of(static_cast<double>(value), static_cast<double>(bound.value))));
  }
  return lines;
}

// Lower bounds with one activation less and one more.
std::string beside(const OptimiseCommand& command, const Setup& setup) {
  std::string text;
  for (const int change : {-1, 1}) {
    Uniform other = setup.problem;
    other.memory += change * stages_of(other);
    const int most = other.microbatches * stages_of(other);
    if (other.memory < least_memory(other) || other.memory > most) continue;
    const optimise::Bound bound = optimise::lower_bound(other, command.objective);
    text += fmt::format("{}with {} no order has a {} below {}", text.empty() ? "" : "; ",
                        activations(setup, other.memory), name_of(command.objective),
                        number(in_units(bound.value, setup)));
  }
  return text;
}

nlohmann::json json_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

std::string as_json(const OptimiseCommand& command, const Search& search,
                    const optimise::Certified* made) {
  nlohmann::json j = {{"schema", "ripeline.optimise/1"},
                      {"ranks", command.ranks},
                      {"objective", name_of(command.objective)},
                      {"seconds", search.seconds()},
                      {"solver", "none"},
                      {"progress", nlohmann::json::array()}};
  for (const Step& step : search.steps()) {
    j["progress"].push_back({{"seconds", step.seconds},
                             {"makespan", json_number(step.value)},
                             {"bound", json_number(step.bound)},
                             {"method", step.method}});
  }
  if (made == nullptr) return j.dump(2) + "\n";
  const Best& best = *search.best();
  const Setup& setup = *best.setup;
  const simulate::ReportedRun reported{
      made->program, made->facts.facts(), setup.problem.microbatches,
      made->timing,  made->run,           made->record};
  const nlohmann::json simulated = nlohmann::json::parse(simulate::report_json(reported, false));
  for (const char* same :
       {"program", "params", "hash", "microbatches", "unit", "makespan", "span", "work", "peak"}) {
    j[same] = simulated[same];
  }
  const double value = in_units(value_of(best.order, command.objective), setup);
  const double bound = in_units(search.best()->setup->bound.value, setup);
  const double bubble = value - simulated["work"].get<double>();
  j.update({{"status", value == bound ? "optimal" : "feasible"},
            {"bubble", json_number(bubble)},
            {"bubble_rate", bubble / value},
            {"bound", json_number(bound)},
            {"bound_by", search.best()->setup->bound.by},
            {"gap", gap_of(value, bound)},
            {"placement", setup.name},
            {"dispatch", "in order best"}});
  return j.dump(2) + "\n";
}

// Nothing was found; the exit code.
int say_none(const OptimiseCommand& command, const Search& search,
             const std::vector<Setup>& setups) {
  const bool fits = std::any_of(setups.begin(), setups.end(), [](const Setup& setup) {
    return setup.problem.memory >= least_memory(setup.problem);
  });
  if (command.format == "json") {
    nlohmann::json j = nlohmann::json::parse(as_json(command, search, nullptr));
    j["status"] = fits ? "none" : "infeasible";
    std::cout << j.dump(2) << '\n';
  }
  if (fits) {
    std::cerr << "ripeline: no order was found within the memory and the time; more of either may "
                 "help\n";
    return unknown;
  }
  std::cerr << "ripeline: no order fits: a forward of all its layers holds 1 activation on each "
               "rank, and --memory is below that\n";
  return refuted;
}

int run(const OptimiseCommand& command) {
  const auto setups = said(setups_of(command));
  if (!setups.ok()) return bad_input;
  Search search(command);
  search.run(setups.value());
  if (!search.best()) return say_none(command, search, setups.value());
  const Best& best = *search.best();
  const Setup& setup = *best.setup;
  const std::vector<std::string> found = summary(command, best);
  std::vector<std::string> comments = {command_text(command, setup)};
  comments.insert(comments.end(), found.begin(), found.end());
  const auto made = said(optimise::certified(setup.problem, best.order, setup.unit, comments));
  if (!made.ok()) return bad_input;
  const optimise::Certified& certified = made.value();
  if (!command.output.empty() && !said(write_file(command.output, certified.text)).ok()) {
    return bad_input;
  }
  const simulate::ReportedRun reported{
      certified.program, certified.facts.facts(), setup.problem.microbatches,
      certified.timing,  certified.run,           certified.record};
  if (!said(write_picture_of(command.picture, reported)).ok()) return bad_input;
  std::ostream& out = command.output == "-" ? std::cerr : std::cout;
  if (command.format == "json") {
    out << as_json(command, search, &certified);
    return ok;
  }
  out << fmt::format("{}\n", fmt::join(found, "\n"));
  if (const std::string more = beside(command, setup); !more.empty()) out << more << '\n';
  out << fmt::format("proved, for every timing, for {} microbatches; the simulator says the same\n",
                     setup.problem.microbatches);
  if (command.output.empty()) {
    out << "-o FILE writes the program, --picture FILE draws it\n";
  } else if (command.output != "-") {
    out << fmt::format("written: {0}; to PyTorch's form with  ripeline export {0} -o order.csv\n",
                       command.output);
  }
  return ok;
}

}  // namespace

void add_optimise(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "optimise",
      "search the best order of F, I and W for costs and memory, with a bound on what is possible");
  auto options = std::make_shared<OptimiseCommand>();
  command->add_option("--ranks", options->ranks, "ranks (4)")->check(integer_from(1, 1024));
  add_microbatches(*command, options->microbatches, "microbatches of a step (8)");
  command
      ->add_option(
          "--costs", options->costs,
          "of all of a rank's layers, for one microbatch: forward, backward for the input, "
          "backward for the weights; and the latency of a message between ranks (1,1,1,0)")
      ->type_name("F,I,W,C")
      ->delimiter(',');
  command
      ->add_option("--memory", options->memory,
                   "activations of all its layers that a rank may hold, each from F to W (as many "
                   "as there are ranks, which is what 1F1B holds)")
      ->type_name("NUMBER");
  add_choice<Placements, Placements>(
      *command, "--placement", options->placement,
      {{"chain", Placements::chain}, {"v", Placements::v}, {"any", Placements::any}},
      "chain: one stage on a rank; v: two of half the layers, down the ranks and back up; any: the "
      "better one (chain)");
  add_choice<Objective, Objective>(
      *command, "--objective", options->objective,
      {{"wall", Objective::wall}, {"span", Objective::span}},
      "what is made small: the whole step, or the longest of a rank from its own first task on "
      "(wall)");
  command->add_option("--seconds", options->seconds, "time to search (10)")
      ->check(number_from_zero());
  command->add_option("--seed", options->seed, "of the search (1)");
  command->add_option("-o,--output", options->output,
                      "the program to write, or - for standard output");
  add_picture(*command, options->picture);
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Examples\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 7 -o best.ripe\n"
      "  ripeline optimise --ranks 8 -m 24 --costs 24,23,12,1 --memory 4 --placement any\n"
      "Standard error has each improvement with its time, the bound and the gap. It ends when the\n"
      "gap is 0, which is an optimum, or when the time is over; Ctrl-C ends it with the best so\n"
      "far. What is written is proved and timed by the simulator.\n"
      "Exit codes: 0 found and proved, 1 no order fits the memory, 2 bad input, 3 none was found.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
