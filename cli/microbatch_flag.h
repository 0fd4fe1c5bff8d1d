// -m: how many microbatches. It means the same in every command (load/counts.h).
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "load/counts.h"

namespace ripeline::cli {

// `help`: what they are of. A text that is neither form is a usage error.
void add_microbatches(CLI::App& command, std::optional<load::Counts>& counts,
                      const std::string& help);

}  // namespace ripeline::cli
