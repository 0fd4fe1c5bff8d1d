// read_file(): all bytes of a file.
#pragma once

#include <string>

#include "core/status.h"

namespace ripeline::files {

// Reads the whole file; a pipe or a device is read to its end. The status of a failure contains the
// system's reason but not the path; `bytes` is then unchanged.
core::Status read_file(const std::string& path, std::string& bytes);

}  // namespace ripeline::files
