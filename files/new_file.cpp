#include "files/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace ripeline::files {
namespace {

// Whether the path names an open file's descriptor. A rename would replace the path, not that file.
bool is_descriptor(const std::string& path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/dev/std") || path.starts_with("/proc/");
}

// The path with all symbolic links resolved. A dangling link stays, so the link is replaced.
std::string target_of(const std::string& path) {
  std::error_code nowhere;
  const std::filesystem::path target = std::filesystem::canonical(path, nowhere);
  return nowhere ? path : target.string();
}

}  // namespace

NewFile::NewFile(std::string path) : path_(std::move(path)), place_(path_) { open(); }

NewFile::~NewFile() { fail(ECANCELED); }

void NewFile::open() {
  struct stat old = {};
  const bool exists = stat(path_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) return fail(EISDIR);
  if (is_descriptor(path_) || (exists && !S_ISREG(old.st_mode))) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    return descriptor_ < 0 ? fail(errno) : void();
  }
  place_ = target_of(path_);
  replaces_ = exists;
  // A rename would ignore the permissions of the replaced file.
  if (exists && access(place_.c_str(), W_OK) != 0) return fail(errno);
  open_beside();
  if (exists && error_ == 0 && fchmod(descriptor_, old.st_mode & 07777) != 0) fail(errno);
}

void NewFile::open_beside() {
  const std::string partial = place_ + ".partial-" + std::to_string(getpid());
  for (int n = 0; descriptor_ < 0; ++n) {
    partial_ = n == 0 ? partial : partial + "-" + std::to_string(n);
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno == EEXIST) continue;
    partial_.clear();
    return fail(errno);
  }
}

void NewFile::fail(int error) {
  if (error_ == 0) error_ = error;
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  if (!partial_.empty()) unlink(std::exchange(partial_, {}).c_str());
}

void NewFile::write(std::string_view text) {
  while (error_ == 0 && !text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
}

core::Status NewFile::put() {
  // Some file systems report a full disk only in fsync() or close(). The bytes must be on the disk
  // before the rename.
  if (error_ == 0 && !partial_.empty() && fsync(descriptor_) != 0) fail(errno);
  if (error_ == 0 && close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (error_ == 0 && !partial_.empty()) {
    if (std::rename(partial_.c_str(), place_.c_str()) != 0) fail(errno);
    partial_.clear();
  }
  return status();
}

core::Status NewFile::status() const {
  if (error_ == 0) return {};
  return {core::StatusCode::failed, path_ + ": cannot be written: " + std::strerror(error_) +
                                        (replaces_ ? "; the old file is still there" : "")};
}

core::Status write_file(const std::string& path, std::string_view text) {
  NewFile file(path);
  file.write(text);
  return file.put();
}

}  // namespace ripeline::files
