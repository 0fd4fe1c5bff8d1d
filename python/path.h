// Paths that Python gives: `-` is the name of a file, and not standard input as on the command
// line.
#pragma once

#include <string>

namespace ripeline::python {

// The path as the readers of load/ take it.
[[nodiscard]] inline std::string as_file(const std::string& path) {
  return path == "-" ? "./-" : path;
}

}  // namespace ripeline::python
