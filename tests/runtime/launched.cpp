#include "tests/runtime/launched.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace ripeline::testing_support {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLimit = 60s;

}  // namespace

// Uses no istreambuf iterators, because these throw if the process has ended.
std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool becomes_true(const std::function<bool()>& condition) {
  const Clock::time_point end = Clock::now() + kLimit;
  while (!condition()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

Launched::~Launched() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  for (const pid_t pid : processes()) kill(pid, SIGKILL);
}

void Launched::start(const std::vector<std::string>& words) {
  std::vector<std::string> all = {RIPELINE_PROGRAM, "launch"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  // If the test ignores signals, as in the background of a shell, the launcher would do so too. So
  // these signals are blocked until the child resets them; a blocked signal waits, even if ignored.
  constexpr std::array kEnds = {SIGINT, SIGTERM, SIGHUP};
  sigset_t ends;
  sigset_t mask;
  sigemptyset(&ends);
  for (const int each : kEnds) sigaddset(&ends, each);
  pthread_sigmask(SIG_BLOCK, &ends, &mask);
  pid_ = fork();
  if (pid_ != 0) {
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    return;
  }
  for (const int each : kEnds) std::signal(each, SIG_DFL);
  setenv("TMPDIR", temporary_.path().c_str(), 1);
  const int out = open(output_path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (before) before();
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  execv(argv[0], argv.data());
  _exit(99);
}

void Launched::kill_safely(pid_t pid, int number) {
  if (pid > 1) kill(pid, number);
}

int Launched::wait() {
  int status = 0;
  if (!becomes_true([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return kHangs;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string Launched::output() const { return text_of(output_path()); }

long Launched::count(const std::string& part) const {
  std::istringstream in(output());
  long n = 0;
  for (std::string each; std::getline(in, each);) n += each.find(part) != std::string::npos;
  return n;
}

std::string Launched::output_of(int rank) const {
  std::istringstream in(output());
  std::string text;
  for (std::string each; std::getline(in, each);) {
    if (each.starts_with("[rank " + std::to_string(rank) + "] ")) text += each + "\n";
  }
  return text;
}

pid_t Launched::pid_of(int rank) const {
  const std::string text = output_of(rank);
  const std::size_t at = text.find("pid ");
  return at == std::string::npos ? -1 : std::stoi(text.substr(at + 4));
}

std::vector<pid_t> Launched::processes() const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (text_of(entry.path() / "environ").find("TMPDIR=" + temporary_.path()) != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

std::string Launched::left_behind() const {
  const auto is_empty = [this] { return std::filesystem::is_empty(temporary_.path()); };
  if (becomes_true([&] { return processes().empty() && is_empty(); })) return {};
  std::string text;
  for (const pid_t pid : processes())
    text += "process " + std::to_string(pid) + ": " +
            text_of("/proc/" + std::to_string(pid) + "/cmdline") + "\n";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary_.path()))
    text += entry.path().string() + "\n";
  return text;
}

}  // namespace ripeline::testing_support
