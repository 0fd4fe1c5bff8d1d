#include "cli/output.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

namespace ripeline::cli {

bool write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return true;
  }
  std::error_code no_status;
  if (std::filesystem::is_other(std::filesystem::status(path, no_status))) {
    std::ofstream device(path, std::ios::binary);
    if (device << text << std::flush) return true;
    std::cerr << fmt::format("ripeline: {}: cannot be written: {}\n", path, std::strerror(errno));
    return false;
  }
  const std::string partial = path + ".partial";
  std::ofstream out(partial, std::ios::binary);
  const bool written = static_cast<bool>(out << text << std::flush);
  out.close();
  std::error_code error;
  if (written) std::filesystem::rename(partial, path, error);
  if (written && !error) return true;
  std::cerr << fmt::format("ripeline: {}: cannot be written: {}\n", path,
                           error ? error.message() : std::strerror(errno));
  std::filesystem::remove(partial, error);
  return false;
}

}  // namespace ripeline::cli
