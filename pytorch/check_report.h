// A CheckReport as text for a person and as JSON for a program: what `ripeline check` prints
// (docs/check.md). Pure functions; never throw.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "pytorch/check.h"

namespace ripeline::pytorch {

// Verdict, findings, the grid with the cells marked, peaks, assumptions. Ends with a newline.
[[nodiscard]] std::string check_text(const std::string& name, const ActionTable& table,
                                     const CheckReport& report, const CheckOptions& options);

// A JSON object. `bytes` is the file's content, for its hash: ranks with other files have another.
[[nodiscard]] nlohmann::json check_json(const std::string& file, std::string_view bytes,
                                        const CheckReport& report, const CheckOptions& options);

}  // namespace ripeline::pytorch
