// Files that commands write.
#pragma once

#include <string>

namespace ripeline::cli {

// Whole or not at all: a reader never sees half a file. A device or a pipe, as /dev/null, stays
// one; `-` is standard output. False after it has said why on standard error.
[[nodiscard]] bool write_file(const std::string& path, const std::string& text);

}  // namespace ripeline::cli
