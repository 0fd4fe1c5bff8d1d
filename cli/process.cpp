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
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/format.h>

namespace ripeline::cli {
namespace {

using Clock = std::chrono::steady_clock;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A file rather than a pipe: the child may read it or not, and nobody waits for it to do so.
File file_of(std::string_view text) {
  File file(text.empty() ? std::fopen("/dev/null", "re") : std::tmpfile(), std::fclose);
  if (file && (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
               std::fflush(file.get()) != 0 || std::fseek(file.get(), 0, SEEK_SET) != 0)) {
    file.reset();
  }
  return file;
}

// The child's number, or 0 and the error. Its output goes to `out`.
pid_t start(const Process& process, int in, int out, int& error) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (!process.shows_errors) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  std::vector<char*> argv;
  for (const std::string& word : process.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : 0;
}

// False: the time was over first. Output beyond `most` is read all the same: the child goes on.
bool read_to_end(int fd, Clock::time_point deadline, std::size_t most, std::string& out) {
  std::array<char, 1 << 16> buffer;
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
    out.append(buffer.data(), std::min(static_cast<std::size_t>(n), most - out.size()));
  }
}

// As waitpid(): the child, or below 0 if it was lost; 0: the time was over first. A child that has
// closed its output mostly ends right after.
pid_t wait_for_end(pid_t child, Clock::time_point deadline, int& status) {
  constexpr std::chrono::microseconds kLongestPause(20'000);
  for (std::chrono::microseconds pause(100);; pause = std::min(2 * pause, kLongestPause)) {
    if (const pid_t ended = waitpid(child, &status, WNOHANG); ended != 0) return ended;
    if (Clock::now() >= deadline) return 0;
    std::this_thread::sleep_for(pause);
  }
}

void kill_and_reap(pid_t child) {
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

ProcessResult run_process(const Process& process) {
  const Clock::time_point deadline = Clock::now() + process.limit;
  ProcessResult finished;
  // Closed on exec, so that other children, started at the same time, do not keep it open.
  std::array<int, 2> ends{};
  const File in = file_of(process.input);
  if (!in || pipe2(ends.data(), O_CLOEXEC) != 0) {
    finished.code = errno;
    return finished;
  }
  const pid_t child = start(process, fileno(in.get()), ends[1], finished.code);
  close(ends[1]);
  if (child == 0) {
    close(ends[0]);
    return finished;
  }
  int status = 0;
  pid_t ended = 0;
  if (read_to_end(ends[0], deadline, process.most_output, finished.out)) {
    ended = wait_for_end(child, deadline, status);
  }
  if (ended == 0) {
    kill_and_reap(child);
    finished.how = ProcessResult::How::timed_out;
  } else if (ended < 0) {
    finished.code = errno;
  } else if (WIFEXITED(status)) {
    finished.how = ProcessResult::How::exited;
    finished.code = WEXITSTATUS(status);
  } else {
    finished.how = ProcessResult::How::signalled;
    finished.code = WTERMSIG(status);
  }
  close(ends[0]);
  return finished;
}

std::string how_it_ended(const Process& process, const ProcessResult& finished) {
  switch (finished.how) {
    case ProcessResult::How::exited:
      return fmt::format("ended with {}", finished.code);
    case ProcessResult::How::signalled:
      return fmt::format("was ended by signal {}", finished.code);
    case ProcessResult::How::failed:
      return fmt::format("cannot be run: {}", std::strerror(finished.code));
    case ProcessResult::How::timed_out:
      break;
  }
  const std::string said = finished.out.empty()
                               ? "it had written nothing"
                               : fmt::format("it had written {} bytes", finished.out.size());
  return fmt::format("did not end within {} s and was killed; {}",
                     std::chrono::duration<double>(process.limit).count(), said);
}

}  // namespace ripeline::cli
