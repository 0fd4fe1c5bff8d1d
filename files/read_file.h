// read_file(): all bytes of a file.
#pragma once

#include <string>

#include "core/status.h"

namespace ripeline::files {

// A pipe or a device is read to its end. The status of a failure has only the system's reason,
// without the path; `bytes` is then unchanged.
core::Status read_file(const std::string& path, std::string& bytes);

}  // namespace ripeline::files
