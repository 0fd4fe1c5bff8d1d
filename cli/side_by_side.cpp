#include "cli/side_by_side.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/open_run.h"

namespace ripeline::cli {
namespace {

constexpr const char* kRanks = "ranks";  // the param

// A number that a run cannot change, of ranks or microbatches, and whose it is.
struct Fixed {
  int value = 0;
  std::string of;
};

// A trace has the numbers that it has; a program one of ranks where no param sets it, as a CSV, and
// one of microbatches where its range is a single count.
std::optional<int> fixed_ranks(const Run& run) {
  if (run.loaded == nullptr) return run.timeline.facts().ranks;
  const spec::Program& program = run.loaded->program;
  const bool is_param = std::any_of(program.params.begin(), program.params.end(),
                                    [](const auto& param) { return param.first == kRanks; });
  return is_param ? std::nullopt : std::optional(program.ranks);
}

std::optional<int> fixed_count(const Run& run) {
  if (run.loaded == nullptr) return run.timeline.run().microbatches;
  const spec::MicrobatchRange& range = run.loaded->program.microbatches;
  return range.max == range.min ? std::optional(range.min) : std::nullopt;
}

// Nothing if no run has such a number, or several have different ones.
template <class FixedOf>
std::optional<Fixed> only_one(const std::vector<Run>& runs, const FixedOf& fixed_of) {
  std::optional<Fixed> only;
  for (const Run& run : runs) {
    const std::optional<int> value = fixed_of(run);
    if (!value) continue;
    if (only && only->value != *value) return std::nullopt;
    if (!only) only = {*value, run.title};
  }
  return only;
}

// The program of `run` once more, for so many ranks.
spec::Result<void> set_ranks(Run& run, const Fixed& ranks) {
  load::LoadedProgram& loaded = *run.loaded;
  loaded.options.defines[kRanks] = ranks.value;
  auto program = spec::compile(loaded.source, loaded.options);
  if (!program.ok()) {
    std::cerr << spec::render(loaded.source, program.errors());
    return failure(fmt::format(
        "{} is no program of {} ranks, which is the number of {}; -D {}=N sets another, and the "
        "two are then not compared",
        run.title, ranks.value, ranks.of, kRanks));
  }
  loaded.program = std::move(program).value();
  return {};
}

// Without -D ranks, programs that can have any number take that of those that cannot.
spec::Result<void> share_ranks(std::vector<Run>& runs, const RunFlags& flags) {
  const auto given = elaborate_options(flags.program);
  if (!given.ok()) return given.errors();
  if (given.value().defines.contains(kRanks)) return {};
  const auto only = only_one(runs, fixed_ranks);
  bool taken = false;
  for (Run& run : runs) {
    if (!only || fixed_ranks(run)) continue;
    if (run.loaded->program.ranks == only->value) continue;
    taken = true;
    if (auto set = set_ranks(run, *only); !set.ok()) return set;
  }
  if (taken) {
    std::cerr << fmt::format("note: all are run with {} rank{}, the only number of {}\n",
                             only->value, only->value == 1 ? "" : "s", only->of);
  }
  return {};
}

// Params that some of the programs have, and those that none has.
spec::Result<void> note_defines(const std::vector<Run>& runs, const RunFlags& flags) {
  const auto given = elaborate_options(flags.program);
  if (!given.ok()) return given.errors();
  for (const auto& [name, value] : given.value().defines) {
    std::vector<std::string> without;
    std::vector<std::string> params;
    bool with = false;
    for (const Run& run : runs) {
      if (run.loaded == nullptr) continue;
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
    std::cerr << fmt::format("note: -D {}={} does not apply to {}: no such param\n", name, value,
                             fmt::join(without, ", "));
  }
  return {};
}

// Times of different amounts of work are no comparison.
template <class NumberOf>
bool note_difference(const std::vector<Run>& runs, const char* of, const NumberOf& number_of) {
  std::vector<std::string> numbers;
  bool differ = false;
  for (const Run& run : runs) {
    differ = differ || number_of(run) != number_of(runs.front());
    numbers.push_back(fmt::format("{} {}", run.title, number_of(run)));
  }
  if (differ) {
    std::cerr << fmt::format("note: the numbers of {} differ: {}\n", of, fmt::join(numbers, ", "));
  }
  return differ;
}

void note_sizes(const std::vector<Run>& runs, const std::optional<Fixed>& taken) {
  note_difference(runs, "ranks", [](const Run& run) { return run.timeline.facts().ranks; });
  const bool differ = note_difference(
      runs, "microbatches", [](const Run& run) { return run.timeline.run().microbatches; });
  if (differ || !taken) return;
  std::cerr << fmt::format("note: all are run with {} microbatch{}, the only number of {}\n",
                           taken->value, taken->value == 1 ? "" : "es", taken->of);
}

}  // namespace

spec::Result<std::vector<Run>> load_runs(const std::vector<std::string>& files,
                                         const RunFlags& flags) {
  std::vector<Run> all;
  RunFlags each = flags;
  each.program.several = true;
  if (!flags.each_of_steps.empty() && std::none_of(files.begin(), files.end(), is_trace)) {
    return said(spec::Result<std::vector<Run>>(
        failure("--step: none of these is a trace; the run of a program has one step")));
  }
  for (const std::string& file : files) {
    std::vector<std::optional<trace::StepRange>> runs = {std::nullopt};
    if (is_trace(file) && !flags.each_of_steps.empty()) {
      runs.assign(flags.each_of_steps.begin(), flags.each_of_steps.end());
    }
    for (const auto& steps : runs) {
      each.steps = steps;
      auto run = opened(file, each);
      if (!run.ok()) return run.errors();
      all.push_back(std::move(run).value());
    }
  }
  if (const auto noted = said(note_defines(all, flags)); !noted.ok()) return noted.errors();
  if (const auto shared = said(share_ranks(all, flags)); !shared.ok()) return shared.errors();
  const auto only = flags.microbatches ? std::nullopt : only_one(all, fixed_count);
  bool taken = false;
  for (Run& run : all) {
    RunFlags with = flags;
    if (only && run.loaded != nullptr) {
      const spec::MicrobatchRange& range = run.loaded->program.microbatches;
      if (range.contains(only->value)) with.microbatches = load::Counts{only->value, only->value};
      taken = taken || range.max != range.min;
    }
    auto finished = made(std::move(run), with);
    if (!finished.ok()) return finished.errors();
    run = std::move(finished).value();
  }
  note_sizes(all, taken ? only : std::nullopt);
  return all;
}

}  // namespace ripeline::cli
