#include "runtime/network/folder_store.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::size_t kLargestValue = 1 << 20;  // bytes; guards against a mistaken writer
const std::string kDraft = ".draft-";
constexpr std::size_t kReserve = 4096;  // bytes

Status system_error(const std::string& path, const std::string& what) {
  return {StatusCode::failed, path + ": " + what + ": " + std::strerror(errno)};
}

// The locks of a claim's file. Each locks one byte, which need not exist in the file.
enum class Lock : off_t {
  life,   // held by the process that has claimed the key
  place,  // held by the process that takes over an abandoned claim
};

struct flock lock_of(Lock what, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(what);
  lock.l_len = 1;
  return lock;
}

bool take_lock(int descriptor, Lock what) {
  struct flock lock = lock_of(what, F_WRLCK);
  return fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

bool is_alive(int descriptor) {
  struct flock lock = lock_of(Lock::life, F_RDLCK);
  return fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool write_all(int descriptor, const Blob& value) {
  for (std::size_t done = 0; done < value.size();) {
    const ssize_t n = ::write(descriptor, value.data() + done, value.size() - done);
    if (n < 0 && errno != EINTR) return false;
    done += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
  return true;
}

// Removes the drafts of processes that were killed while they wrote.
void remove_drafts_of_the_dead(const std::string& folder) {
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = file.path().filename();
    if (!name.starts_with(kDraft)) continue;
    const pid_t process = std::atoi(name.c_str() + kDraft.size());
    if (process > 0 && kill(process, 0) != 0 && errno == ESRCH) unlink(file.path().c_str());
  }
}

}  // namespace

FolderStore::FolderStore(std::string folder) : folder_(std::move(folder)) {
  if (!draft("a reserve", Blob(kReserve), reserve_).ok()) reserve_ = {};
}

FolderStore::~FolderStore() {
  for (const auto& [key, descriptor] : claims_) close(descriptor);
  if (reserve_.descriptor >= 0) {
    unlink(reserve_.path.c_str());
    close(reserve_.descriptor);
  }
  if (rmdir(folder_.c_str()) == 0 || errno != ENOTEMPTY) return;  // the last process succeeds
  remove_drafts_of_the_dead(folder_);
  rmdir(folder_.c_str());
}

Status FolderStore::open(const std::string& folder, std::unique_ptr<FolderStore>& store) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(folder, "cannot make the run's folder");
  }
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) {
    return system_error(folder, "cannot look at the run's folder");
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return {StatusCode::refused, folder + ": expected a folder of this user alone (mode 0700)"};
  }
  store.reset(new FolderStore(folder));
  return {};
}

Status FolderStore::draft(const std::string& key, const Blob& value, Draft& draft) {
  static std::atomic<unsigned> drafts = 0;
  draft.path = path_of(kDraft + std::to_string(getpid()) + "-" + std::to_string(++drafts));
  const auto create = [&] {
    return ::open(draft.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  };
  draft.descriptor = create();
  if (draft.descriptor >= 0 && write_all(draft.descriptor, value)) return {};
  const Status status = system_error(path_of(key), "cannot be written");
  if (draft.descriptor >= 0) {
    unlink(draft.path.c_str());
    close(draft.descriptor);
  }
  return status;
}

// Overwrites the reserve, which needs no more room on the disk unless the value is longer.
bool FolderStore::use_reserve(const Blob& value, Draft& draft) {
  if (reserve_.descriptor < 0) return false;
  draft = std::exchange(reserve_, {});
  if (lseek(draft.descriptor, 0, SEEK_SET) == 0 && write_all(draft.descriptor, value) &&
      ftruncate(draft.descriptor, static_cast<off_t>(value.size())) == 0) {
    return true;
  }
  unlink(draft.path.c_str());
  close(draft.descriptor);
  return false;
}

// Returns false on failure, with errno: EEXIST if the key has a value.
bool FolderStore::put(const Draft& draft, const std::string& key) const {
  return renameat2(AT_FDCWD, draft.path.c_str(), AT_FDCWD, path_of(key).c_str(),
                   RENAME_NOREPLACE) == 0;
}

Status FolderStore::set(const std::string& key, const Blob& value) {
  Draft draft;
  if (Status status = this->draft(key, value, draft); !status.ok()) return status;
  close(draft.descriptor);
  if (rename(draft.path.c_str(), path_of(key).c_str()) == 0) return {};
  const Status status = system_error(path_of(key), "cannot be put in place");
  unlink(draft.path.c_str());
  return status;
}

Status FolderStore::set_if_absent(const std::string& key, const Blob& value, Blob& there) {
  Draft draft;
  // If this fails, the reserve is used: the value may report that no descriptors or space are left.
  if (Status drafted = this->draft(key, value, draft); !drafted.ok()) {
    if (!use_reserve(value, draft)) return drafted;
  }
  close(draft.descriptor);
  Status status;
  if (!put(draft, key)) {
    if (errno != EEXIST) status = system_error(path_of(key), "cannot be put in place");
    unlink(draft.path.c_str());
  }
  return status.ok() ? read(key, there) : status;
}

Status FolderStore::read(const std::string& key, Blob& value) {
  std::optional<Blob> found;
  Status status = get(key, found);
  value = std::move(found).value_or(Blob());
  return status;
}

Status FolderStore::get(const std::string& key, std::optional<Blob>& value) {
  value.reset();
  const int descriptor = ::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0)
    return errno == ENOENT ? Status() : system_error(path_of(key), "cannot be read");
  Status status;
  Blob read;
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(descriptor, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = system_error(path_of(key), "cannot be read");
    if (n <= 0) break;
    read.insert(read.end(), buffer.begin(), buffer.begin() + n);
    if (read.size() <= kLargestValue) continue;
    status = {StatusCode::invalid,
              path_of(key) + ": longer than " + std::to_string(kLargestValue) + " bytes"};
    break;
  }
  close(descriptor);
  if (status.ok()) value = std::move(read);
  return status;
}

void FolderStore::remove(const std::string& key) {
  unlink(path_of(key).c_str());
  release(key);
}

Status FolderStore::claim(const std::string& key, const Blob& value, Blob& there) {
  Draft draft;
  if (Status status = this->draft(key, value, draft); !status.ok()) return status;
  const auto give_up = [&](Status status) {
    unlink(draft.path.c_str());
    close(draft.descriptor);
    return status;
  };
  // The file is locked before it gets its name, so that no live process's claim looks abandoned.
  if (!take_lock(draft.descriptor, Lock::life))
    return give_up(system_error(path_of(key), "cannot be locked"));
  there.clear();
  if (!put(draft, key)) {
    if (errno != EEXIST) return give_up(system_error(path_of(key), "cannot be put in place"));
    if (!replace_abandoned(key, draft, there)) {
      if (Status status = read(key, there); !status.ok()) return give_up(status);
      return give_up({StatusCode::refused, path_of(key) + ": another process holds it"});
    }
  }
  claims_[key] = draft.descriptor;
  return {};
}

bool FolderStore::replace_abandoned(const std::string& key, const Draft& draft, Blob& there) {
  const int old = ::open(path_of(key).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (old < 0) return false;
  // If several processes get here, the first to lock the file wins if the key still names the file.
  struct stat opened {};
  struct stat named {};
  const bool is_ours = !is_alive(old) && take_lock(old, Lock::place) && fstat(old, &opened) == 0 &&
                       lstat(path_of(key).c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
                       read(key, there).ok() &&
                       rename(draft.path.c_str(), path_of(key).c_str()) == 0;
  close(old);
  return is_ours;
}

void FolderStore::release(const std::string& key) {
  const auto it = claims_.find(key);
  if (it == claims_.end()) return;
  close(it->second);
  claims_.erase(it);
}

Claim FolderStore::claim_of(const std::string& key) {
  const int descriptor = ::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  // If the file cannot be opened for another reason, its process is not known to have ended.
  if (descriptor < 0) return errno == ENOENT ? Claim::none : Claim::held;
  const bool held = is_alive(descriptor);
  close(descriptor);
  return held ? Claim::held : Claim::abandoned;
}

int FolderStore::watch() {
  const int watching = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  // A process's end closes the files of its claims, which it kept open; IN_CLOSE_WRITE shows this.
  if (watching >= 0 &&
      inotify_add_watch(watching, folder_.c_str(), IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE) >= 0) {
    return watching;
  }
  if (watching >= 0) close(watching);
  return -1;
}

}  // namespace ripeline::runtime::network
