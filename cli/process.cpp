#include "cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ripeline::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Nobody needs more of an answer; a child that writes on is read to its end all the same.
constexpr std::size_t kMostOutput = 1 << 20;

// False: the time was over first.
bool read_to_end(int fd, Clock::time_point deadline, std::string& out) {
  std::array<char, 4096> buffer;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{fd, POLLIN, 0};
    const int changed = poll(&ready, 1, static_cast<int>(std::min<long>(left, 1'000'000)));
    if (changed < 0 && errno == EINTR) continue;
    if (changed <= 0) continue;
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (out.size() < kMostOutput) out.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

Finished run_process(const std::vector<std::string>& command, std::chrono::milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  // Closed on exec, so that other children, started at the same time, do not keep it open.
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Finished finished;
  if (error != 0) {
    close(ends[0]);
    finished.how = error == ENOENT ? Finished::How::not_found : Finished::How::failed;
    return finished;
  }
  const bool ended = read_to_end(ends[0], deadline, finished.out);
  close(ends[0]);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.how = !ended                   ? Finished::How::timed_out
                 : WIFEXITED(status) != 0 ? Finished::How::exited
                                          : Finished::How::failed;
  return finished;
}

}  // namespace ripeline::cli
