#include "certificates/folder.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "files/new_file.h"
#include "files/read_file.h"

namespace ripeline::certificates {

namespace fs = std::filesystem;

namespace {

// More bytes than any certificate that Ripeline writes.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

constexpr std::array kOwn = {kManifest,        kProgramFile, kOrderFile, "invariant.txt",
                             "invariant.smt2", "queries",    "graphs",   "runs"};

// The folder that holds the new files until all are written. A folder that a killed process has
// left behind is ignored.
constexpr const char* kFresh = ".ripeline-partial";

spec::Diagnostic failed(const fs::path& folder, const std::error_code& code) {
  return spec::failure(fmt::format("{}: {}", folder.string(), code.message()));
}

// Fails unless the folder does not exist, is empty, or holds a certificate and nothing else.
spec::Result<void> check_folder(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) return {};
  if (!fs::is_directory(folder, code)) {
    return spec::failure(fmt::format("{}: this is no folder", folder.string()));
  }
  const bool replaced =
      fs::exists(folder / kManifest, code) || fs::exists(folder / kFresh / kManifest, code);
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    const bool own = std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
    if (name == kFresh || (own && replaced)) continue;
    return spec::failure(
        fmt::format("{}: the folder has other files in it, such as {}", folder.string(), name));
  }
  if (code) return failed(folder, code);
  return {};
}

spec::Result<void> write_fresh(const fs::path& fresh, const Files& files) {
  std::error_code code;
  fs::remove_all(fresh, code);
  for (const auto& [name, content] : files) {
    const fs::path path = fresh / name;
    fs::create_directories(path.parent_path(), code);
    if (code) return failed(path.parent_path(), code);
    const core::Status written = files::write_file(path.string(), content);
    if (!written.ok()) return spec::failure(written.message());
  }
  return {};
}

// Removes the old certificate and moves the new files in, the manifest last, so that an incomplete
// certificate has no manifest.
spec::Result<void> exchange(const fs::path& folder) {
  std::error_code code;
  for (const char* name : kOwn) {
    if (!code) fs::remove_all(folder / name, code);
  }
  for (auto name = kOwn.rbegin(); name != kOwn.rend() && !code; ++name) {
    if (!fs::exists(folder / kFresh / *name, code)) continue;
    fs::rename(folder / kFresh / *name, folder / *name, code);
  }
  if (!code) fs::remove_all(folder / kFresh, code);
  if (code) return failed(folder, code);
  return {};
}

}  // namespace

spec::Result<void> write_certificate(const std::string& folder, const Files& files) {
  const fs::path root(folder);
  if (auto checked = check_folder(root); !checked.ok()) return checked;
  std::error_code ignored;
  const bool replaces = fs::exists(root / kManifest, ignored);
  const bool is_new = !fs::exists(root, ignored);
  auto written = write_fresh(root / kFresh, files);
  if (written.ok()) return exchange(root);
  fs::remove_all(root / kFresh, ignored);
  if (is_new) fs::remove(root, ignored);
  if (!replaces) return written;
  return spec::failure(written.errors().front().message + "; the old certificate is still there");
}

spec::Result<Files> read_certificate(const std::string& folder) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    return spec::failure(fmt::format("{}: there is no such folder", folder));
  }
  Files files;
  std::uintmax_t bytes = 0;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const fs::file_status status = entry->symlink_status();
    if (fs::is_directory(status)) continue;
    const std::string name = fs::relative(entry->path(), folder).generic_string();
    if (name.starts_with(kFresh)) continue;
    if (!fs::is_regular_file(status)) {
      return spec::failure(fmt::format("{}: {} is not a plain file", folder, name));
    }
    bytes += entry->file_size(code);
    if (bytes > kMostBytes || !files::read_file(entry->path().string(), files[name]).ok()) {
      return spec::failure(fmt::format("{}: {} cannot be read, or is too large", folder, name));
    }
  }
  if (code) return failed(folder, code);
  return files;
}

}  // namespace ripeline::certificates
