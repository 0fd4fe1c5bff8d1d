// SVG as PDF, by the program rsvg-convert of librsvg.
#pragma once

#include <optional>
#include <string>

#include "spec/diagnostics.h"

namespace ripeline::cli {

// Why none can be made here: the program is not there, with the package that has it. Nothing: it
// can. Runs the program.
[[nodiscard]] std::optional<std::string> why_no_pdf();

// One page of the size of the picture, 96 of its pixels an inch, with the fonts that it uses.
// Blocks; errors: the program failed, or took longer than some minutes.
[[nodiscard]] spec::Result<std::string> pdf_of(const std::string& svg);

}  // namespace ripeline::cli
