// --step: which steps of a trace. It has the form of -m, N or N..M (load/steps.h).
#pragma once

#include <optional>
#include <vector>

#include <CLI/App.hpp>

#include "trace/steps.h"

namespace ripeline::cli {

void add_step_flag(CLI::App& command, std::optional<trace::StepRange>& steps);
// Which may be given several times.
void add_step_flag(CLI::App& command, std::vector<trace::StepRange>& steps);

}  // namespace ripeline::cli
