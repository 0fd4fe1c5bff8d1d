// The times of tasks and messages: the flags of every command that simulates.
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "load/times.h"

namespace ripeline::cli {

inline constexpr const char* kUnitHelp =
    "what a cost of 1 is: ns, us, ms or s; without it an abstract unit";
void add_times(CLI::App& command, load::TimeOptions& options,
               const std::string& unit_help = kUnitHelp);

}  // namespace ripeline::cli
