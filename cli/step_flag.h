// The flag --step, the steps of a trace. Its value is N or N..M, as for -m (load/steps.h).
#pragma once

#include <optional>
#include <vector>

#include <CLI/App.hpp>

#include "trace/steps.h"

namespace ripeline::cli {

void add_step_flag(CLI::App& command, std::optional<trace::StepRange>& steps);
// The flag may be given several times.
void add_step_flag(CLI::App& command, std::vector<trace::StepRange>& steps);

}  // namespace ripeline::cli
