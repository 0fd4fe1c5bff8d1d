#include "cli/optimise_input.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/input.h"

namespace ripeline::cli {
namespace {

// The flag as it is written on a command line; empty if it is not given.
std::string number_flag(const char* flag, const std::optional<double>& value) {
  return value ? fmt::format(" {} {:.12g}", flag, *value) : "";
}
std::string text_flag(const char* flag, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {} {}", flag, value);
}

}  // namespace

spec::Result<optimise::ModelOptions> model_of(const OptimiseFlags& flags) {
  if (!flags.program.defines.empty() || !flags.program.dispatch.empty()) {
    return spec::failure("-D and --dispatch are of a FILE: expected one");
  }
  const auto count = one_count(flags.microbatches);
  if (!count.ok()) return count.errors();
  const auto times = read_timing(flags.times);
  if (!times.ok()) return times.errors();
  optimise::ModelOptions model = flags.model;
  model.microbatches = count.value();
  model.times = times.value();
  model.profile = flags.times.profile;
  return model;
}

spec::Result<OptimisedStep> read_step(const OptimiseFlags& flags) {
  const auto& placements = flags.model.placements;
  if (flags.model.describes_model()) {
    return spec::failure(
        "--ranks, --costs, --memory, --activation and --chunks describe a model; with a "
        "FILE, its text has them: -D sets its params, --rank-costs and --profile its costs");
  }
  if (placements.size() > 1) return spec::failure("--placement any: a FILE has one placement");
  load::ProgramOptions options = of_step(flags.program, flags.microbatches);
  if (!placements.empty()) options.placement = placements.front();
  auto loaded = load_program(flags.file, options);
  if (!loaded.ok()) return spec::Diagnostics();  // the errors are printed already
  OptimisedStep step{.loaded = std::move(loaded).value(), .times = {}};
  spec::Program& program = step.loaded.program;
  const auto count = count_of_step(flags.microbatches, program);
  if (!count.ok()) return count.errors();
  auto times = read_timing(flags.times);
  if (!times.ok()) return times.errors();
  if (const auto s = load::check_simulated(program); !s.ok()) return s.errors();
  step.microbatches = count.value();
  step.times = std::move(times).value();
  program = load::for_one_count(program, step.microbatches);
  return step;
}

spec::Result<optimise::ModelForms> read_forms(const OptimiseFlags& flags) {
  if (flags.file.empty()) {
    const auto model = model_of(flags);
    if (!model.ok()) return model.errors();
    return optimise::forms_of(model.value());
  }
  const auto step = read_step(flags);
  if (!step.ok()) return step.errors();
  const auto& [loaded, microbatches, times] = step.value();
  return optimise::forms_of(loaded.program, microbatches, loaded.source, loaded.options.read_file,
                            times, flags.model.objective);
}

std::vector<std::string> command_lines(const OptimiseFlags& flags,
                                       const optimise::ModelForms& forms) {
  const simulate::TimingOptions& times = forms.times;
  const load::TimeOptions& given = flags.times;
  const optimise::Problem& problem = *forms.forms.front().problem;
  const std::string unit = times.unit ? " --unit " + times.unit->name : "";
  const std::string latency = number_flag("--latency", times.latency);
  const std::string links = number_flag("--bandwidth", times.bytes_per_second) +
                            number_flag("--bytes", times.message_bytes) +
                            number_flag("--control", times.control);
  std::string command;
  std::string timed;
  if (!flags.file.empty()) {
    timed = text_flag("--rank-costs", given.rank_costs.value_or("")) +
            text_flag("--profile", given.profile) + text_flag("--unit", given.unit) +
            text_flag("--latency", given.latency) + links;
    command = flags.file;
    for (const std::string& define : flags.program.defines) command += " -D " + define;
    command += fmt::format(" -m {}", problem.microbatches()) + timed;
  } else {
    const optimise::ModelOptions& model = flags.model;
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
      (flags.model.objective == optimise::Objective::span ? " --objective span" : "") +
      (seed != 1 ? fmt::format(" --seed {}", seed) : "") +
      (flags.quantile ? fmt::format(" --quantile {}", *flags.quantile) : "")};
  if (!timed.empty()) lines.push_back("times as with  ripeline simulate FILE" + timed);
  return lines;
}

}  // namespace ripeline::cli
