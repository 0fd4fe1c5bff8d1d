#include "runtime/launcher/processes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

namespace ripeline::runtime::launcher {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct Process {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
};

// Reads /proc/ID/stat: `ID (name) state parent group …`, where the name may hold any character.
std::optional<Process> read_process(const std::string& id) {
  const int file = open(("/proc/" + id + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 512> text{};
  const ssize_t size = read(file, text.data(), text.size() - 1);
  close(file);
  if (size <= 0) return {};
  const std::string line(text.data(), static_cast<std::size_t>(size));
  const std::size_t name_end = line.rfind(')');
  Process process;
  if (name_end == line.npos ||
      std::sscanf(line.c_str() + name_end + 1, " %*c %d %d", &process.parent, &process.group) != 2)
    return {};
  std::from_chars(id.data(), id.data() + id.size(), process.id);
  return process;
}

std::vector<Process> child_processes() {
  std::vector<Process> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const auto process = read_process(name);
    if (process && process->parent == getpid()) found.push_back(*process);
  }
  return found;
}

}  // namespace

std::vector<pid_t> children() {
  std::vector<pid_t> ids;
  for (const Process& child : child_processes()) ids.push_back(child.id);
  return ids;
}

// Only children are killed: nobody else waits for them, so their ids are not reused. A killed child
// leaves its children to this process. An ended child stays listed until this process waits for it;
// so if a reading of /proc lists no child, there was no descendant when the reading began.
std::vector<pid_t> end_children(std::chrono::nanoseconds limit, const std::vector<pid_t>& spared) {
  const Clock::time_point end = Clock::now() + limit;
  std::chrono::milliseconds pause = 1ms;
  for (;;) {
    bool any = false;
    std::vector<pid_t> left;
    for (const Process& child : child_processes()) {
      if (std::find(spared.begin(), spared.end(), child.id) != spared.end()) continue;
      any = true;
      // The group is killed at once, since a process may start others faster than /proc is read.
      if (child.group != getpgrp()) kill(-child.group, SIGKILL);
      kill(child.id, SIGKILL);
      if (waitpid(child.id, nullptr, WNOHANG) != child.id) left.push_back(child.id);
    }
    if (!any || Clock::now() >= end) return left;
    if (left.empty()) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, 64ms);
  }
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

}  // namespace ripeline::runtime::launcher
