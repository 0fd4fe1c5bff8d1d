// Files that commands write.
#pragma once

#include <string>

#include "spec/diagnostics.h"

namespace ripeline::cli {

// As files/new_file.h: whole or not at all. `-` is standard output.
[[nodiscard]] spec::Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace ripeline::cli
