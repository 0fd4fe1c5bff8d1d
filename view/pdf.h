// Pictures as PDF, which the program rsvg-convert of librsvg makes. It must be in PATH.
//
// Both functions run that program and wait for it. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"

namespace ripeline::view {

// The reason why no PDF can be made here; nullopt if one can be made.
[[nodiscard]] std::optional<std::string> why_no_pdf();

// A PDF of one page, as large as the picture at 96 pixels per inch, with its fonts embedded. The
// program's own messages go to standard error.
[[nodiscard]] core::StatusOr<std::string> pdf_of(const std::string& svg);

}  // namespace ripeline::view
