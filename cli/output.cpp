#include "cli/output.h"

#include <iostream>

#include "files/new_file.h"
#include "load/document.h"

namespace ripeline::cli {

spec::Result<void> write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return {};
  }
  const core::Status written = files::write_file(path, text);
  if (!written.ok()) return spec::failure(written.message());
  return {};
}

void print_json(const nlohmann::json& document) { std::cout << load::document_text(document); }

}  // namespace ripeline::cli
