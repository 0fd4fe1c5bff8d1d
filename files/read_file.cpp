#include "files/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace ripeline::files {
namespace {

constexpr std::size_t kLeastRead = std::size_t{1} << 16;

// Reads all bytes; returns 0 or the errno of the failure.
int read_to_end(int descriptor, std::string& bytes) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return errno;
  std::size_t length = 0;
  bytes.resize(static_cast<std::size_t>(about.st_size) + 1);  // the extra byte detects the end
  for (;;) {
    if (length == bytes.size()) bytes.resize(length + std::max(length, kLeastRead));
    const ssize_t count = ::read(descriptor, bytes.data() + length, bytes.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  bytes.resize(length);
  return 0;
}

}  // namespace

core::Status read_file(const std::string& path, std::string& bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string found;
  const int error = descriptor < 0 ? errno : read_to_end(descriptor, found);
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) return {core::StatusCode::failed, std::strerror(error)};
  bytes = std::move(found);
  return {};
}

}  // namespace ripeline::files
