#include "cli/certificate_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace ripeline::cli {

namespace fs = std::filesystem;

namespace {

// More than any certificate that is written here.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

constexpr std::array kOwn = {verify::kManifest, "program.ripe", "order.csv", "invariant.txt",
                             "invariant.smt2",  "queries",      "graphs",    "runs"};

bool clear(const fs::path& folder, std::string& error) {
  std::error_code code;
  if (!fs::exists(folder, code)) return true;
  if (!fs::is_directory(folder, code)) {
    error = fmt::format("{}: this is no folder", folder.string());
    return false;
  }
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    const bool own = std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
    if (own && fs::exists(folder / verify::kManifest)) continue;
    error = fmt::format("{}: the folder has other files in it, such as {}", folder.string(), name);
    return false;
  }
  // The manifest last: a folder without it is none that may be cleared.
  for (auto name = kOwn.rbegin(); name != kOwn.rend() && !code; ++name) {
    fs::remove_all(folder / *name, code);
  }
  if (code) error = fmt::format("{}: {}", folder.string(), code.message());
  return !code;
}

}  // namespace

bool write_certificate(const std::string& folder, const verify::Files& files, std::string& error) {
  const fs::path root(folder);
  if (!clear(root, error)) return false;
  // The manifest last: half a certificate has none.
  for (const bool manifest : {false, true}) {
    for (const auto& [name, content] : files) {
      if ((name == verify::kManifest) != manifest) continue;
      const fs::path path = root / name;
      std::error_code code;
      fs::create_directories(path.parent_path(), code);
      std::ofstream out(path, std::ios::binary);
      if (!(out << content << std::flush)) {
        error = fmt::format("{}: cannot be written: {}", path.string(),
                            code ? code.message() : std::strerror(errno));
        return false;
      }
    }
  }
  return true;
}

std::optional<verify::Files> read_certificate(const std::string& folder, std::string& error) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    error = fmt::format("{}: there is no such folder", folder);
    return std::nullopt;
  }
  verify::Files files;
  std::uintmax_t bytes = 0;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const fs::file_status status = entry->symlink_status();
    if (fs::is_directory(status)) continue;
    const std::string name = fs::relative(entry->path(), folder).generic_string();
    if (!fs::is_regular_file(status)) {
      error = fmt::format("{}: {} is not a plain file", folder, name);
      return std::nullopt;
    }
    bytes += entry->file_size(code);
    std::ostringstream text;
    std::ifstream in(entry->path(), std::ios::binary);
    if (bytes > kMostBytes || !in ||
        !(text << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof())) {
      error = fmt::format("{}: {} cannot be read, or is too large", folder, name);
      return std::nullopt;
    }
    files[name] = text.str();
  }
  if (!code) return files;
  error = fmt::format("{}: {}", folder, code.message());
  return std::nullopt;
}

}  // namespace ripeline::cli
