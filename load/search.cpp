#include "load/search.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "optimise/racing/gain.h"

namespace ripeline::load {
namespace {

using optimise::Objective;

// The flag as it is written on a command line; empty if it is not given.
std::string number_flag(const char* flag, const std::optional<double>& value) {
  return value ? fmt::format(" {} {:.12g}", flag, *value) : "";
}
std::string text_flag(const char* flag, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {} {}", flag, value);
}

// The model, with the microbatches and the times.
spec::Result<optimise::ModelOptions> model_of(const SearchOptions& options) {
  if (!options.program.defines.empty() || !options.program.dispatch.empty()) {
    return spec::failure("-D and --dispatch are of a FILE: expected one");
  }
  const auto count = one_count(options.microbatches);
  if (!count.ok()) return count.errors();
  const auto times = read_timing(options.times);
  if (!times.ok()) return times.errors();
  optimise::ModelOptions model = options.reported_model();
  model.microbatches = count.value();
  model.times = times.value();
  return model;
}

// Comments for the written program: the command that found it, and flags that give the same times.
std::vector<std::string> command_lines(const SearchOptions& options,
                                       const optimise::ModelForms& forms) {
  const simulate::TimingOptions& times = forms.times;
  const TimeOptions& given = options.times;
  const optimise::Problem& problem = *forms.forms.front().problem;
  const std::string unit = times.unit ? " --unit " + times.unit->name : "";
  const std::string latency = number_flag("--latency", times.latency);
  const std::string links = number_flag("--bandwidth", times.bytes_per_second) +
                            number_flag("--bytes", times.message_bytes) +
                            number_flag("--control", times.control);
  std::string command;
  std::string timed;
  if (!options.file.empty()) {
    timed = text_flag("--rank-costs", given.rank_costs.value_or("")) +
            text_flag("--profile", given.profile) + text_flag("--unit", given.unit) +
            text_flag("--latency", given.latency) + links;
    command = options.file;
    for (const std::string& define : options.program.defines) command += " -D " + define;
    command += fmt::format(" -m {}", problem.microbatches()) + timed;
  } else {
    const optimise::ModelOptions& model = options.model;
    const bool layers = !given.profile.empty();
    const std::string placement = model.placements.size() > 1 ? "any"
                                  : model.placements.empty()  ? name_of(pytorch::Placement::chain)
                                                              : name_of(model.placements.front());
    timed = (layers ? unit + latency : latency + unit) + links;
    command = fmt::format("--ranks {} -m {}", problem.program().ranks, problem.microbatches()) +
              (layers ? text_flag("--profile", given.profile) + latency
                      : fmt::format(" --costs {}", fmt::join(costs_of(model), ","))) +
              links +
              text_flag("--activation", fmt::format("{}", fmt::join(model.activation, ","))) +
              text_flag("--memory", model.memory) + " --placement " + placement +
              (model.chunks ? fmt::format(" --chunks {}", *model.chunks) : "");
  }
  const std::uint64_t seed = given.timing.seed;
  std::vector<std::string> lines = {
      "ripeline optimise " + command +
      (options.model.objective == Objective::span ? " --objective span" : "") +
      (seed != 1 ? fmt::format(" --seed {}", seed) : "") +
      (options.quantile ? fmt::format(" --quantile {}", *options.quantile) : "")};
  if (!timed.empty()) lines.push_back("times as with  ripeline simulate FILE" + timed);
  return lines;
}

int solver_threads(const SearchOptions& options) { return options.solver ? options.threads : 0; }

}  // namespace

optimise::ModelOptions SearchOptions::reported_model() const {
  optimise::ModelOptions reported = model;
  reported.profile = times.profile;
  return reported;
}

spec::Result<optimise::ModelForms> forms_of_model(const SearchOptions& options) {
  const auto model = model_of(options);
  if (!model.ok()) return model.errors();
  return optimise::forms_of(model.value());
}

spec::Result<SearchedStep> step_of(const LoadedProgram& loaded, const SearchOptions& options) {
  const auto count = count_of_step(options.microbatches, loaded.program);
  if (!count.ok()) return count.errors();
  auto times = read_timing(options.times);
  if (!times.ok()) return times.errors();
  if (const auto s = check_simulated(loaded.program); !s.ok()) return s.errors();
  return SearchedStep{.program = for_one_count(loaded.program, count.value()),
                      .microbatches = count.value(),
                      .times = std::move(times).value()};
}

spec::Result<optimise::ModelForms> forms_of_program(const LoadedProgram& loaded,
                                                    const SearchOptions& options) {
  auto step = step_of(loaded, options);
  if (!step.ok()) return step.errors();
  auto [program, microbatches, times] = std::move(step).value();
  return optimise::forms_of(std::move(program), microbatches, loaded.source,
                            loaded.options.read_file, times, options.model.objective);
}

spec::Result<bool> decide_race(const SearchOptions& options, const optimise::ModelForms& forms,
                               Notes& notes) {
  const bool draws = forms.varies();
  const bool races = draws && (forms.times.jitter.draws() || options.seeds || options.quantile);
  if (draws && !races) {
    notes.push_back(
        "the profile's spreads are not looked at: --seeds 50 compares what is found under them");
  }
  if (races && options.every_count) {
    return spec::failure(
        "--every-count: an order that races is for its number of microbatches alone");
  }
  if (options.seeds && !draws) {
    return spec::failure(
        "--seeds: times do not vary: expected --jitter, or a FILE and a profile with spreads");
  }
  const optimise::RaceOptions race = race_options(options);
  const core::Status fits = optimise::fits(race.measure, draws, race.seeds);
  if (!fits.ok()) return spec::failure(fits.message());
  return races;
}

optimise::RaceOptions race_options(const SearchOptions& options) {
  constexpr int kUsualSeeds = 50;
  optimise::RaceOptions race;
  race.measure.percentile = options.quantile;
  race.seeds = options.seeds.value_or(std::max(kUsualSeeds, optimise::least_runs(race.measure)));
  race.by_span = options.model.objective == Objective::span;
  return race;
}

optimise::BestOrderOptions order_options(const SearchOptions& options,
                                         const optimise::ModelForms& forms, bool races,
                                         optimise::BestOrderOptions with) {
  with.seed = options.times.timing.seed;
  with.solver_threads = solver_threads(options);
  with.races = races;
  with.every_count = options.every_count;
  with.comments = command_lines(options, forms);
  return with;
}

spec::Result<optimise::MemoryCurve> curve_of(const SearchOptions& options,
                                             optimise::CurveOptions with) {
  if (!options.times.jitter.empty() || options.seeds || options.quantile) {
    return spec::failure(
        fmt::format("{}: orders race with one memory, not with a range of --memory",
                    options.quantile ? "--quantile"
                    : options.seeds  ? "--seeds"
                                     : "--jitter"));
  }
  if (!options.file.empty()) {
    return spec::failure(
        "--memory A..B is for a model that flags describe: a FILE has its own capacities");
  }
  const auto model = model_of(options);
  if (!model.ok()) return model.errors();
  with.seconds = options.seconds;
  with.seed = options.times.timing.seed;
  with.solver_threads = solver_threads(options);
  return optimise::memory_curve(model.value(), with);
}

}  // namespace ripeline::load
