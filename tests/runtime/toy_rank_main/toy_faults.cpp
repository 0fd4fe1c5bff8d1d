#include "tests/runtime/toy_rank_main/toy_faults.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iostream>
#include <stdexcept>

namespace ripeline {
namespace {

void start_daemon() {
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    if (fork() == 0) execlp("sleep", "sleep", "1000", nullptr);
    _exit(0);
  }
  waitpid(between, nullptr, 0);
}

struct What {
  std::string_view name;
  void (*act)();
};

constexpr std::array kWhat = {
    What{"kill", [] { raise(SIGKILL); }},
    What{"stop", [] { raise(SIGSTOP); }},
    What{"segfault", [] { raise(SIGSEGV); }},
    What{"term", [] { raise(SIGTERM); }},
    What{"exit", [] { _exit(3); }},
    What{"throw", [] { throw std::runtime_error("the stage is broken"); }},
    What{"deaf", [] { std::signal(SIGTERM, SIG_IGN); }},
    What{"print",
         [] {
           for (;;) std::cout << "a line that somebody may read" << std::endl;
         }},
    What{"daemon", start_daemon},
};

}  // namespace

bool ToyFaults::add(std::string_view text, int rank) {
  const std::size_t colon = text.find(':');
  const std::size_t at = text.find('@');
  if (colon == text.npos || at == text.npos || colon > at) return false;
  const std::string_view ranks = text.substr(0, colon);
  const std::string_view what = text.substr(colon + 1, at - colon - 1);
  for (const What& each : kWhat) {
    if (each.name != what) continue;
    if (ranks == "all" || ranks == std::to_string(rank))
      faults_.push_back({std::string(what), std::string(text.substr(at + 1))});
    return true;
  }
  return false;
}

void ToyFaults::meet(const std::string& when) const {
  for (const Fault& fault : faults_) {
    if (fault.when != when) continue;
    for (const What& each : kWhat) {
      if (each.name == fault.what) each.act();
    }
  }
}

}  // namespace ripeline
