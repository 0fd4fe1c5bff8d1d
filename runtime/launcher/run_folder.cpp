#include "runtime/launcher/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <random>
#include <string_view>

namespace ripeline::runtime::launcher {
namespace {

constexpr std::string_view kPrefix = "ripeline-run-";
constexpr std::size_t kLongestPath = 80;   // bytes; leaves room for a socket's name
constexpr std::time_t kSurelyHeldBy = 60;  // seconds after the folder was made

int open_folder(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool is_name(std::string_view name) {
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == name.npos;
}

}  // namespace

std::string new_run_folder() {
  std::random_device random;
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  std::array<char, 17> text{};
  std::to_chars(text.data(), text.data() + 16, number, 16);
  const std::string name = std::string(kPrefix) + text.data();
  std::error_code error;
  const std::string path = (std::filesystem::temp_directory_path(error) / name).string();
  return error || path.size() > kLongestPath ? "/tmp/" + name : path;
}

int make_run_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0) return -1;
  const int descriptor = open_folder(path);
  if (descriptor >= 0) flock(descriptor, LOCK_EX | LOCK_NB);
  return descriptor;
}

void remove_abandoned_folders(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(std::filesystem::path(path).parent_path(), error),
       end;
       !error && entry != end; entry.increment(error)) {
    if (!is_name(entry->path().filename().string())) continue;
    const int descriptor = open_folder(entry->path());
    struct stat info {};
    if (descriptor >= 0 && fstat(descriptor, &info) == 0 && info.st_uid == geteuid() &&
        info.st_mtime + kSurelyHeldBy < std::time(nullptr) &&
        flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      std::error_code ignored;
      std::filesystem::remove_all(entry->path(), ignored);
    }
    if (descriptor >= 0) close(descriptor);
  }
}

}  // namespace ripeline::runtime::launcher
