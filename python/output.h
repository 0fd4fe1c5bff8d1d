// Files that Python asks for. They appear complete or not at all; on failure, throw Failure.
#pragma once

#include <string>

namespace ripeline::python {

void write_text(const std::string& path, const std::string& text);
// Converts the picture to PDF, for which rsvg-convert must be in PATH.
void write_pdf(const std::string& path, const std::string& svg);

}  // namespace ripeline::python
