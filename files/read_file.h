// read_file(): all bytes of a file.
#pragma once

#include <string>

#include "core/status.h"

namespace ripeline::files {

// A pipe or a device is read to its end. Failures: the system's reason alone, without the path;
// then `bytes` is left as it was.
core::Status read_file(const std::string& path, std::string& bytes);

}  // namespace ripeline::files
