#include "tests/support/scarce.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace ripeline::testing_support {
namespace {

constexpr int kNoSuchWorld = 77;
constexpr unsigned kNobody = 65534;

std::optional<std::string> in_child(const std::function<bool()>& prepare,
                                    const std::function<std::string()>& call) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    if (!prepare()) _exit(kNoSuchWorld);
    const std::string said = call();
    const bool told = write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char part[4096];
  for (ssize_t n = 0; child > 0 && (n = read(ends[0], part, sizeof part)) > 0;) {
    said.append(part, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return std::nullopt;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSuchWorld) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) said += "(the child failed)";
  return said;
}

}  // namespace

std::optional<std::string> with_small_files(long bytes, const std::function<std::string()>& call) {
  return in_child(
      [&] {
        const rlimit limit = {static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
        return std::signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0;
      },
      call);
}

std::optional<std::string> with_file_system(const std::string& folder, const std::string& options,
                                            const std::function<std::string()>& call) {
  return in_child(
      [&] {
        const int spaces = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
        return unshare(spaces) == 0 &&
               mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", folder.c_str(), "tmpfs", 0, options.c_str()) == 0;
      },
      call);
}

std::optional<std::string> without_rights(const std::function<std::string()>& call) {
  return in_child([] { return geteuid() != 0 || (setgid(kNobody) == 0 && setuid(kNobody) == 0); },
                  call);
}

}  // namespace ripeline::testing_support
