// Files that commands write.
#pragma once

#include <string>

#include "spec/diagnostics.h"

namespace ripeline::cli {

// Whole or not at all: a reader never sees half a file. A device or a pipe, as /dev/null, stays
// one; `-` is standard output.
[[nodiscard]] spec::Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace ripeline::cli
