// The flag -m, the number of microbatches. It means the same in every command (load/counts.h).
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "load/counts.h"

namespace ripeline::cli {

// `help` is the flag's help. A text that is neither a count nor a range is a usage error.
void add_microbatches(CLI::App& command, std::optional<load::Counts>& counts,
                      const std::string& help);

}  // namespace ripeline::cli
