// Times and bytes as flags take them (simulate/amount.h).
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "spec/diagnostics.h"
#include "trace/about.h"

namespace ripeline::cli {

// A time in the unit of the costs, as a latency. Errors: what was expected.
[[nodiscard]] spec::Result<double> time_in(const std::string& flag, const std::string& text,
                                           const std::optional<trace::Unit>& unit);

// Validators of flags for bytes, or for bytes in a second: 4.7MB, 25GB/s, 2.5e10. They rewrite the
// text, so that CLI11 reads a number of bytes.
[[nodiscard]] CLI::Validator bytes_from_zero();
[[nodiscard]] CLI::Validator bytes_per_second();

}  // namespace ripeline::cli
