#include "load/side_by_side.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/vocabulary/plural.h"
#include "load/shorten.h"
#include "optimise/racing/gain.h"
#include "simulate/amount.h"
#include "spec/long_work.h"

namespace ripeline::load {
namespace {

using spec::failure;

constexpr const char* kRanks = "ranks";  // the name of the param

// A number of ranks or microbatches that a run cannot change, and the title of that run.
struct Fixed {
  int value = 0;
  std::string of;
};

// The number of ranks is fixed in a trace and in a program that has no param for it, such as a CSV.
// The number of microbatches is fixed in a trace and in a program for a single count.
std::optional<int> fixed_ranks(const Run& run) {
  if (run.is_trace()) return run.timeline.facts().ranks;
  const spec::Program& program = run.loaded->program;
  const bool is_param = std::any_of(program.params.begin(), program.params.end(),
                                    [](const auto& param) { return param.first == kRanks; });
  return is_param ? std::nullopt : std::optional(program.ranks);
}

std::optional<int> fixed_count(const Run& run) {
  if (run.is_trace()) return run.timeline.run().microbatches;
  const spec::MicrobatchRange& range = run.loaded->program.microbatches;
  return range.max == range.min ? std::optional(range.min) : std::nullopt;
}

// The fixed number; nullopt if no run has a fixed number, or if two runs have different ones.
std::optional<Fixed> only_one(const std::vector<Run>& runs,
                              std::optional<int> (*fixed_of)(const Run&)) {
  std::optional<Fixed> only;
  for (const Run& run : runs) {
    const std::optional<int> value = fixed_of(run);
    if (!value) continue;
    if (only && only->value != *value) return std::nullopt;
    if (!only) only = {*value, run.title};
  }
  return only;
}

std::string shared_text(const std::string& numbers, const Fixed& only) {
  return fmt::format("all are run with {}, the only number of {}", numbers, only.of);
}

// Adds a note for each define that some programs lack. Fails for a define that all programs lack.
spec::Result<void> note_defines(const std::vector<Run>& runs,
                                const std::map<std::string, std::int64_t>& defines, Notes& notes) {
  for (const auto& [name, value] : defines) {
    std::vector<std::string> without;
    std::vector<std::string> params;
    bool with = false;
    for (const Run& run : runs) {
      if (run.is_trace()) continue;
      for (const auto& param : run.loaded->program.params) params.push_back(param.first);
      const bool has = run.loaded->options.defines.contains(name);
      with = with || has;
      if (!has) without.push_back(run.title);
    }
    if (without.empty()) continue;
    if (!with) {
      const auto meant = spec::nearest(name, params);
      return failure(fmt::format("-D {}={}: no program here has a param '{}'{}", name, value, name,
                                 meant ? ". Did you mean " + *meant + "?" : ""));
    }
    notes.push_back(fmt::format("-D {}={} does not apply to {}: no such param", name, value,
                                fmt::join(without, ", ")));
  }
  return {};
}

// In programs with a param for ranks, sets it to the fixed number of ranks of the other runs.
spec::Result<void> share_ranks(std::vector<Run>& runs, Notes& notes,
                               std::optional<Misfit>& misfit) {
  const auto only = only_one(runs, fixed_ranks);
  bool taken = false;
  for (Run& run : runs) {
    if (!only || fixed_ranks(run) || run.loaded->program.ranks == only->value) continue;
    taken = true;
    LoadedProgram& loaded = *run.loaded;
    loaded.options.defines[kRanks] = only->value;
    auto program = spec::compile(loaded.source, loaded.options);
    if (!program.ok()) {
      misfit = {loaded.source, program.errors()};
      return failure(fmt::format(
          "{} is no program of {} ranks, which is the number of {}; -D {}=N sets another, and the "
          "two are then not compared",
          run.title, only->value, only->of, kRanks));
    }
    loaded.program = std::move(program).value();
  }
  if (taken) notes.push_back(shared_text(plural(only->value, "rank"), *only));
  return {};
}

template <class NumberOf>
bool note_difference(const std::vector<Run>& runs, const char* of, const NumberOf& number_of,
                     Notes& notes) {
  std::vector<std::string> numbers;
  bool differ = false;
  for (const Run& run : runs) {
    differ = differ || number_of(run) != number_of(runs.front());
    numbers.push_back(fmt::format("{} {}", run.title, number_of(run)));
  }
  if (differ) {
    notes.push_back(fmt::format("the numbers of {} differ: {}", of, fmt::join(numbers, ", ")));
  }
  return differ;
}

// The figures of all runs of one program, seed by seed.
struct Seeds {
  std::vector<view::Figures> figures;
  bool stuck = false;
};

spec::Result<Seeds> run_seeds(const Run& first, const RunOptions& options, int seeds) {
  Seeds all{{view::figures(first.timeline)}, first.stuck.any()};
  const std::uint64_t seed = options.times.timing.seed;
  for (int more = 1; more < seeds; ++more) {
    spec::part_begins(fmt::format("{}, seed {} of {}", first.title, more + 1, seeds));
    const auto run = run_again(first, options, seed + static_cast<std::uint64_t>(more));
    if (!run.ok()) return run.errors();
    all.figures.push_back(view::figures(run.value().timeline));
    all.stuck = all.stuck || run.value().stuck.any();
  }
  return all;
}

// The speed relative to the baseline; nullopt if nothing ran in one of the runs.
std::optional<view::Speed> speed_of(const Seeds& baseline, const Seeds& runs) {
  std::vector<double> logarithms;
  for (std::size_t i = 0; i < runs.figures.size(); ++i) {
    const double ratio = baseline.figures[i].makespan / runs.figures[i].makespan;
    if (!std::isfinite(ratio) || ratio <= 0) return std::nullopt;
    logarithms.push_back(std::log(ratio));
  }
  if (logarithms.size() == 1) {
    return view::Speed{.ratio = baseline.figures[0].makespan / runs.figures[0].makespan};
  }
  const optimise::Gain gain = optimise::gain_of(logarithms);
  return view::Speed{.ratio = gain.ratio, .low = gain.low, .high = gain.high};
}

}  // namespace

spec::Result<std::string> agree(std::vector<Run>& runs, const RunOptions& options, Notes& notes,
                                std::optional<Misfit>& misfit) {
  const auto given = elaborate_options(options.program);
  if (!given.ok()) return given.errors();
  const auto& defines = given.value().defines;
  if (const auto noted = note_defines(runs, defines, notes); !noted.ok()) return noted.errors();
  if (!defines.contains(kRanks)) {
    if (const auto s = share_ranks(runs, notes, misfit); !s.ok()) return s.errors();
  }
  return agree_on_count(runs, options);
}

std::string agree_on_count(std::vector<Run>& runs, const RunOptions& options) {
  const auto only = options.microbatches ? std::nullopt : only_one(runs, fixed_count);
  bool taken = false;
  for (Run& run : runs) {
    if (!only || run.is_trace()) continue;
    const spec::MicrobatchRange& range = run.loaded->program.microbatches;
    if (range.contains(only->value)) run.microbatches = only->value;
    taken = taken || range.max != range.min;
  }
  return taken ? shared_text(plural(only->value, "microbatch"), *only) : std::string();
}

Notes size_notes(const std::vector<Run>& runs, const std::string& agreed) {
  Notes notes;
  const auto ranks = [](const Run& run) { return run.timeline.facts().ranks; };
  const auto count = [](const Run& run) { return run.timeline.run().microbatches; };
  note_difference(runs, "ranks", ranks, notes);
  const bool differ = note_difference(runs, "microbatches", count, notes);
  if (!differ && !agreed.empty()) notes.push_back(agreed);
  return notes;
}

spec::Result<std::vector<view::Compared>> compared(const std::vector<Run>& runs,
                                                   const RunOptions& options, int seeds) {
  std::vector<view::Compared> all;
  std::vector<Seeds> of_all;
  for (const Run& run : runs) {
    if (seeds > 1 && run.is_trace()) {
      return failure("--seeds: expected programs, to run them with several seeds, and " +
                     run.title + " is a trace");
    }
  }
  for (const Run& run : runs) {
    auto of = run_seeds(run, options, seeds);
    if (!of.ok()) return of.errors();
    of_all.push_back(std::move(of).value());
    all.push_back({.title = run.title,
                   .program = std::string(run.timeline.facts().name),
                   .unit = run.timeline.run().unit,
                   .ranks = run.timeline.facts().ranks,
                   .microbatches = run.timeline.run().microbatches,
                   .figures = view::average(of_all.back().figures),
                   .stuck = of_all.back().stuck,
                   .work = run.work});
  }
  const auto baseline = view::baseline_of(all);
  for (std::size_t i = 0; baseline && i < all.size(); ++i) {
    if (!view::are_alike(all[i], all[*baseline])) continue;
    all[i].speed = speed_of(of_all[*baseline], of_all[i]);
  }
  return all;
}

std::string how_to_give_same_work(const std::vector<Run>& runs, const TimeOptions& times) {
  const auto traces =
      std::count_if(runs.begin(), runs.end(), [](const Run& r) { return r.is_trace(); });
  if (traces == std::ssize(runs)) return {};
  if (traces > 0 && times.profile.empty()) {
    return "`ripeline profile TRACE -o costs.json` makes costs of a trace, and --profile "
           "costs.json gives them to the programs";
  }
  if (traces > 0 || times.rank_costs) return {};
  return "--rank-costs, as --rank-costs F=1,B=2, gives all of them one model";
}

spec::Result<std::optional<view::MemoryLimit>> memory_limit(const std::string& text) {
  if (text.empty()) return std::optional<view::MemoryLimit>();
  const auto given = simulate::amount_in(text);
  if (!given || given->value.numerator == 0 || given->dimension == simulate::Dimension::time) {
    return failure(fmt::format(
        "--memory {}: expected microbatches of all of a rank's layers that it has room for, a "
        "number above 0, as 6 or 2.5, or bytes, as 24GB",
        shortened(text)));
  }
  return std::optional(view::MemoryLimit{.amount = given->base.value(),
                                         .bytes = given->dimension == simulate::Dimension::bytes,
                                         .text = text});
}

}  // namespace ripeline::load
