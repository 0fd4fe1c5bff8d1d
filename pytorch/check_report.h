// A CheckReport as text for a person and as JSON for a program: what `ripeline check` prints
// (docs/check.md). Pure functions; never throw.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "pytorch/check.h"

namespace ripeline::verify {

// Verdict, findings, the grid with the cells marked, peaks, assumptions. Ends with a newline.
[[nodiscard]] std::string check_text(const std::string& name, const spec::ActionTable& table,
                                     const CheckReport& report, const CheckOptions& options);

// One object. `bytes` are the file's, for its hash: ranks that load other files have another.
[[nodiscard]] nlohmann::json check_json(const std::string& file, std::string_view bytes,
                                        const CheckReport& report, const CheckOptions& options);

}  // namespace ripeline::verify
