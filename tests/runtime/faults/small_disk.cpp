#include "tests/runtime/faults/small_disk.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace ripeline::faults {
namespace {

constexpr int kLimit = 60'000;  // milliseconds, for a child that only mounts the disk

bool write_file(const std::string& path, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const ssize_t n = write(file, text.data(), text.size());
  close(file);
  return n == static_cast<ssize_t>(text.size());
}

// Room for the one descriptor that is sent with a message.
union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

msghdr message_of(iovec& byte, Control& control) {
  msghdr message{};
  message.msg_iov = &byte;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  return message;
}

bool send_descriptor(int socket, int descriptor) {
  char byte = 0;
  iovec data{&byte, 1};
  Control control{};
  msghdr message = message_of(data, control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) {
  pollfd event{.fd = socket, .events = POLLIN, .revents = 0};
  char byte = 0;
  iovec data{&byte, 1};
  Control control{};
  msghdr message = message_of(data, control);
  if (poll(&event, 1, kLimit) != 1 || recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

}  // namespace

bool take_own_mounts() {
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !write_file("/proc/self/setgroups", "deny") ||
        !write_file("/proc/self/uid_map", user + " " + user + " 1") ||
        !write_file("/proc/self/gid_map", group + " " + group + " 1"))
      return false;
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool may_have_own_mounts() {
  static const bool may = [] {
    const pid_t pid = fork();
    if (pid == 0)
      _exit(take_own_mounts() && mount("none", "/tmp", "tmpfs", 0, "size=4k") == 0 ? 0 : 1);
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
  }();
  return may;
}

SmallDisk::SmallDisk() {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) ends_ = {-1, -1};
}

SmallDisk::~SmallDisk() {
  for (const int descriptor : {ends_[0], ends_[1], folder_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

bool SmallDisk::mount(const std::string& path, const std::string& options,
                      const std::vector<std::string>& old_files) const {
  if (::mount("none", path.c_str(), "tmpfs", 0, ("mode=0700," + options).c_str()) != 0)
    return false;
  for (const std::string& name : old_files) {
    if (!write_file(path + "/" + name, "old")) return false;
  }
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return folder >= 0 && send_descriptor(ends_[1], folder);
}

std::string SmallDisk::open() {
  folder_ = receive_descriptor(ends_[0]);
  return folder_ < 0 ? "" : "/proc/self/fd/" + std::to_string(folder_);
}

}  // namespace ripeline::faults
