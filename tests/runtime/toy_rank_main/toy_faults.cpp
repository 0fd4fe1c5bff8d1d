#include "tests/runtime/toy_rank_main/toy_faults.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <stdexcept>
#include <thread>

#include "core/layout.h"
#include "runtime/protocol/notice_codec.h"

namespace ripeline {
namespace {

void start_daemon(const ToyContext&) {
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    if (fork() == 0) execlp("sleep", "sleep", "1000", nullptr);
    _exit(0);
  }
  waitpid(between, nullptr, 0);
}

// Allocates memory in pieces, so small allocations still succeed, as when a tensor does not fit.
void take_memory(const ToyContext&) {
  constexpr std::size_t kPiece = 1 << 20;  // bytes
  constexpr rlim_t kLeft = 16 << 20;
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kLeft;
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  setrlimit(RLIMIT_AS, &limit);
  while (std::malloc(kPiece) != nullptr) {
  }
  throw std::bad_alloc();
}

void take_descriptors(const ToyContext&) {
  const rlimit few{.rlim_cur = 64, .rlim_max = 64};
  setrlimit(RLIMIT_NOFILE, &few);
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
  }
}

void wait_for_failure(const ToyContext&) {
  const char* folder = std::getenv("RIPELINE_FOLDER");
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (folder != nullptr && !std::filesystem::exists(std::string(folder) + "/failure") &&
         std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Writes junk to each connected socket.
void send_junk(const ToyContext&) {
  const std::string junk(4096, 'x');
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    send(descriptor, junk.data(), junk.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

// `change` makes a wrong message from the message that an edge of the rank would carry.
template <class Change>
void send_to_peers(const ToyContext& context, int times, const Change& change) {
  const core::ProgramFacts& facts = *context.facts;
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const int self = context.transport->self();
    const auto process_of = [&](core::LaneId lane) {
      return core::layout_of(facts).of_rank(self, facts.lanes[static_cast<std::size_t>(lane)].rank);
    };
    const int to = process_of(facts.edges[i].consumer);
    if (process_of(facts.edges[i].producer) != self || to == self) continue;
    const runtime::signals::OfMessage of{.message = {static_cast<core::EdgeId>(i), 0}};
    runtime::Envelope envelope{.signal = runtime::signals::Data{of}};
    runtime::Payload payload;
    change(of, envelope.signal, payload);
    for (int n = 0; n < times; ++n)
      static_cast<void>(context.transport->send(to, envelope, payload).ok());
  }
}

constexpr int kFlood = 20'000;

// First removes handlers of sanitizers and UCX, which would end the process in another way.
void crash(const ToyContext& /*context*/) {
  std::signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

struct What {
  std::string_view name;
  void (*act)(const ToyContext&);
};

constexpr std::array kWhat = {
    What{"kill", [](auto&) { raise(SIGKILL); }},
    What{"stop", [](auto&) { raise(SIGSTOP); }},
    What{"segfault", crash},
    What{"term", [](auto&) { kill(getpid(), SIGTERM); }},
    What{"exit", [](auto&) { _exit(3); }},
    What{"throw", [](auto&) { throw std::runtime_error("the stage is broken"); }},
    What{"memory", take_memory},
    What{"descriptors", take_descriptors},
    What{"deaf", [](auto&) { std::signal(SIGTERM, SIG_IGN); }},
    What{"print",
         [](auto&) {
           for (;;) std::cout << "a line that somebody may read" << std::endl;
         }},
    What{"daemon", start_daemon},
    What{"leak", [](auto&) { std::ofstream("/dev/shm/leak") << "left"; }},
    What{"twin", [](auto&) { static_cast<void>(fork()); }},
    What{"late", wait_for_failure},
    What{"junk", send_junk},
    What{"replay", [](auto& context) { send_to_peers(context, 1, [](auto&, auto&, auto&) {}); }},
    What{"edge",
         [](auto& context) {
           send_to_peers(context, 1, [](auto&, auto& signal, auto&) {
             signal = runtime::signals::Data{{0, {12'345, 0}}};
           });
         }},
    What{"flood",
         [](auto& context) {
           send_to_peers(context, kFlood, [](auto& of, auto& signal, auto& payload) {
             signal = runtime::signals::Notice{of};
             payload = runtime::protocol::encode_notice({});
           });
         }},
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
      if (each.name == fault.what) each.act(context_);
    }
  }
}

}  // namespace ripeline
