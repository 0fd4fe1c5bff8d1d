#include "cli/certificate_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "cli/failure.h"

namespace ripeline::cli {

namespace fs = std::filesystem;

namespace {

// More than any certificate that is written here.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

constexpr std::array kOwn = {verify::kManifest, "program.ripe", "order.csv", "invariant.txt",
                             "invariant.smt2",  "queries",      "graphs",    "runs"};

spec::Result<void> clear(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) return {};
  if (!fs::is_directory(folder, code)) {
    return failure(fmt::format("{}: this is no folder", folder.string()));
  }
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    const bool own = std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
    if (own && fs::exists(folder / verify::kManifest)) continue;
    return failure(
        fmt::format("{}: the folder has other files in it, such as {}", folder.string(), name));
  }
  // The manifest last: a folder without it is none that may be cleared.
  for (auto name = kOwn.rbegin(); name != kOwn.rend() && !code; ++name) {
    fs::remove_all(folder / *name, code);
  }
  if (code) return failure(fmt::format("{}: {}", folder.string(), code.message()));
  return {};
}

}  // namespace

spec::Result<void> write_certificate(const std::string& folder, const verify::Files& files) {
  const fs::path root(folder);
  if (auto cleared = clear(root); !cleared.ok()) return cleared;
  // The manifest last: half a certificate has none.
  for (const bool manifest : {false, true}) {
    for (const auto& [name, content] : files) {
      if ((name == verify::kManifest) != manifest) continue;
      const fs::path path = root / name;
      std::error_code code;
      fs::create_directories(path.parent_path(), code);
      std::ofstream out(path, std::ios::binary);
      if (!(out << content << std::flush)) {
        return failure(fmt::format("{}: cannot be written: {}", path.string(),
                                   code ? code.message() : std::strerror(errno)));
      }
    }
  }
  return {};
}

spec::Result<verify::Files> read_certificate(const std::string& folder) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    return failure(fmt::format("{}: there is no such folder", folder));
  }
  verify::Files files;
  std::uintmax_t bytes = 0;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const fs::file_status status = entry->symlink_status();
    if (fs::is_directory(status)) continue;
    const std::string name = fs::relative(entry->path(), folder).generic_string();
    if (!fs::is_regular_file(status)) {
      return failure(fmt::format("{}: {} is not a plain file", folder, name));
    }
    bytes += entry->file_size(code);
    std::ostringstream text;
    std::ifstream in(entry->path(), std::ios::binary);
    if (bytes > kMostBytes || !in ||
        !(text << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof())) {
      return failure(fmt::format("{}: {} cannot be read, or is too large", folder, name));
    }
    files[name] = text.str();
  }
  if (code) return failure(fmt::format("{}: {}", folder, code.message()));
  return files;
}

}  // namespace ripeline::cli
