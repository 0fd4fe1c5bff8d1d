#include "cli/output.h"

#include <iostream>

#include "cli/failure.h"
#include "files/new_file.h"

namespace ripeline::cli {

spec::Result<void> write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return {};
  }
  const core::Status written = files::write_file(path, text);
  if (!written.ok()) return failure(written.message());
  return {};
}

}  // namespace ripeline::cli
