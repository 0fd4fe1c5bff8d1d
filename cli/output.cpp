#include "cli/output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "cli/failure.h"

namespace ripeline::cli {

spec::Result<void> write_file(const std::string& path, const std::string& text) {
  const auto unwritten = [&](const std::string& why) {
    return failure(fmt::format("{}: cannot be written: {}", path, why));
  };
  if (path == "-") {
    std::cout << text;
    return {};
  }
  std::error_code no_status;
  if (std::filesystem::is_other(std::filesystem::status(path, no_status))) {
    std::ofstream device(path, std::ios::binary);
    if (device << text << std::flush) return {};
    return unwritten(std::strerror(errno));
  }
  const std::string partial = path + ".partial";
  std::ofstream out(partial, std::ios::binary);
  const bool written = static_cast<bool>(out << text << std::flush);
  out.close();
  std::error_code error;
  if (written) std::filesystem::rename(partial, path, error);
  if (written && !error) return {};
  const std::string why = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(partial, error);
  return unwritten(why);
}

}  // namespace ripeline::cli
