#include "cli/output.h"

#include <iostream>

#include <nlohmann/json.hpp>

#include "files/new_file.h"

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

void print_json(const nlohmann::json& document) {
  std::cout << document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace ripeline::cli
