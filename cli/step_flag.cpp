#include "cli/step_flag.h"

#include <string>

#include <CLI/CLI.hpp>

#include "load/steps.h"

namespace ripeline::cli {
namespace {

constexpr const char* kStepType = "N or N..N";

trace::StepRange range_in(const std::string& text) {
  const auto read = load::steps_in(text);
  if (!read.ok()) throw CLI::ValidationError("--step", read.errors().front().message);
  return read.value();
}

}  // namespace

void add_step_flag(CLI::App& command, std::optional<trace::StepRange>& steps) {
  command
      .add_option_function<std::string>(
          "--step", [&steps](const std::string& text) { steps = range_in(text); },
          "of a trace: which of its steps, as the trace numbers them (the last whole one)")
      ->type_name(kStepType);
}

void add_step_flag(CLI::App& command, std::vector<trace::StepRange>& steps) {
  command
      .add_option_function<std::vector<std::string>>(
          "--step",
          [&steps](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) steps.push_back(range_in(text));
          },
          "of a trace: which of its steps, as the trace numbers them (the last whole one); given "
          "several times, each is a run of its own")
      ->type_name(kStepType)
      ->allow_extra_args(false);
}

}  // namespace ripeline::cli
