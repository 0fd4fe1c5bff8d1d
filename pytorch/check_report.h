// A CheckReport as text for a person and as JSON for a program: what `ripeline check` prints
// (docs/check.md). Pure functions; never throw.
#pragma once

#include <string>
#include <string_view>

#include "pytorch/check.h"
#include "verify/findings.h"

namespace ripeline::pytorch {

// Verdict, findings, the grid with marked cells, peaks and assumptions. It ends with a newline.
[[nodiscard]] std::string check_text(const std::string& name, const ActionTable& table,
                                     const CheckReport& report, const CheckOptions& options);

// A JSON object. `bytes` is the file's content, whose hash differs if ranks have different files.
[[nodiscard]] nlohmann::json check_json(const std::string& file, std::string_view bytes,
                                        const CheckReport& report, const CheckOptions& options);

// Adds the input and its findings, each at its cell, or at its row if it has no cell.
void add_check(verify::SarifLog& log, const std::string& file, const spec::Source& source,
               const CheckReport& report);

}  // namespace ripeline::pytorch
