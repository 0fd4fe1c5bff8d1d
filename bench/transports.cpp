// The cost of a message over each of the transports between two processes of one host.
//
// The time is half a round trip of a message with one part of 64 bytes to 16 MiB. A received part
// stays where it arrived; the reply is sent from another buffer, which is never written to. Each
// round measures all transports, and also plain write() and read() of the same bytes on a Unix
// socket with equal buffers. The table has the median time of the plain calls and, for each
// transport, the median of its ratios to the plain calls of the same round.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/awake.h"
#include "runtime/network/folder_store.h"
#include "runtime/network/socket.h"
#include "runtime/network/ucx.h"

namespace ripeline {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kRounds = 7;
struct Size {
  const char* name;
  std::size_t bytes;
  int messages;  // round trips per round
};
constexpr std::array kSizes = {Size{"64 B", 64, 2000}, Size{"64 KiB", 64 << 10, 500},
                               Size{"1 MiB", 1 << 20, 60}, Size{"16 MiB", 16 << 20, 8}};
struct Way {
  const char* name;
  const char* address;     // the sockets' address; if null, one in the run's folder
  const char* transports;  // UCX's transports; if null, UCX is not used
  const char* devices = nullptr;
};
constexpr std::array kWays = {Way{"Unix sockets", nullptr, nullptr},
                              Way{"TCP sockets", "tcp:127.0.0.1:0", nullptr},
                              Way{"UCX, memory", nullptr, "posix,cma,self", "all"},
                              Way{"UCX, TCP", nullptr, "tcp,self", "lo"}};
// Times in microseconds, by size of the message.
using Times = std::array<double, kSizes.size()>;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_transports: %s\n", message.c_str());
  std::_Exit(1);
}

void require(const core::Status& status) {
  if (!status.ok()) fail(status.message());
}

std::unique_ptr<runtime::Transport> connect(const Way& way, const std::string& folder, int rank) {
  runtime::network::SocketOptions options;
  options.rank = rank;
  options.ranks = 2;
  std::unique_ptr<runtime::Transport> transport;
  if (way.address == nullptr) {
    require(runtime::network::connect_in_folder(options, folder, transport));
  } else {
    options.address = way.address;
    std::unique_ptr<runtime::network::FolderStore> store;
    require(runtime::network::FolderStore::open(folder, store));
    require(runtime::network::connect_sockets(options, std::move(store), transport));
  }
  if (way.transports == nullptr) return transport;
  setenv("UCX_TLS", way.transports, 1);
  setenv("UCX_NET_DEVICES", way.devices, 1);
  require(runtime::network::connect_ucx({}, transport));
  return transport;
}

void send(runtime::Transport& transport, const runtime::Payload& payload) {
  require(transport.send(1 - transport.self(), {}, payload));
}
void receive(runtime::Transport& transport) {
  static std::vector<runtime::Delivery> deliveries;
  deliveries.clear();
  while (deliveries.empty()) require(transport.poll(10s, deliveries));
}

// Measures `there` and `back`, which are called in turn, for each size of message.
Times time_messages(bool begins, const std::function<void(std::size_t bytes)>& there,
                    const std::function<void(std::size_t bytes)>& back) {
  Times times{};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const std::size_t bytes = kSizes[i].bytes;
    Clock::time_point start;
    for (int m = -1; m < kSizes[i].messages; ++m) {  // -1: not timed, without buffers
      if (m == 0) start = Clock::now();
      if (begins) there(bytes);
      back(bytes);
      if (!begins) there(bytes);
    }
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    times[i] = time.count() / (2 * kSizes[i].messages);
  }
  return times;
}

Times run_rank(runtime::Transport& transport) {
  runtime::Payload payload;
  const auto there = [&](std::size_t bytes) {
    if (payload.size() != bytes) payload = runtime::payload_of(runtime::Blob(bytes));
    send(transport, payload);
  };
  const Times times =
      time_messages(transport.self() == 0, there, [&](std::size_t) { receive(transport); });
  require(transport.finish(60s));
  return times;
}

Times run_raw(int descriptor, bool begins) {
  const std::vector<char> mine(kSizes.back().bytes);
  std::vector<char> theirs(kSizes.back().bytes);
  const auto all = [](std::size_t bytes, const auto& some) {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t n = some(done);
      if (n <= 0) fail("a socket has closed");
      done += static_cast<std::size_t>(n);
    }
  };
  return time_messages(
      begins,
      [&](std::size_t bytes) {
        all(bytes, [&](std::size_t at) { return write(descriptor, mine.data() + at, bytes - at); });
      },
      [&](std::size_t bytes) {
        all(bytes,
            [&](std::size_t at) { return read(descriptor, theirs.data() + at, bytes - at); });
      });
}

pid_t in_process(const std::function<void()>& act) {
  const pid_t pid = fork();
  if (pid < 0) fail("cannot fork");
  if (pid > 0) return pid;
  act();
  std::_Exit(0);
}

// Forks two processes that exchange messages, and returns the times of the first.
Times measure(const std::function<Times(int rank)>& time) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) fail("cannot make a pipe");
  std::array<pid_t, 2> pids{};
  for (int rank = 0; rank < 2; ++rank) {
    pids[static_cast<std::size_t>(rank)] = in_process([&] {
      const Times times = time(rank);
      if (rank == 0 && write(ends[1], &times, sizeof times) != sizeof times) fail("a pipe broke");
    });
  }
  close(ends[1]);
  Times times{};
  const bool is_whole = read(ends[0], &times, sizeof times) == sizeof times;
  close(ends[0]);
  for (const pid_t pid : pids) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0) fail("a rank failed");
  }
  if (!is_whole) fail("a rank said nothing");
  return times;
}

Times measure(const Way& way) {
  std::string folder = "/tmp/ripeline-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) fail("cannot make a folder");
  const Times times = measure([&](int rank) { return run_rank(*connect(way, folder, rank)); });
  rmdir(folder.c_str());
  return times;
}

Times measure_raw() {
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) fail("cannot make sockets");
  const int bytes = runtime::network::SocketOptions{}.kernel_bytes;
  for (const int socket : sockets) {
    if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
      setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  const Times times = measure([&](int rank) {
    close(sockets[static_cast<std::size_t>(1 - rank)]);
    return run_raw(sockets[static_cast<std::size_t>(rank)], rank == 0);
  });
  for (const int socket : sockets) close(socket);
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run() {
  const bench::Awake awake;
  std::printf("%s\n", awake.line());
  std::vector<Times> raw;
  std::array<std::vector<Times>, kWays.size()> rounds;
  for (int round = 0; round < kRounds; ++round) {
    raw.push_back(measure_raw());
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      if (kWays[way].transports != nullptr && !runtime::network::has_ucx()) continue;
      rounds[way].push_back(measure(kWays[way]));
    }
  }
  std::printf("%-8s  %12s", "message", "raw");
  for (const Way& way : kWays) std::printf("  %12s", way.name);
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    std::vector<double> plain;
    for (const Times& times : raw) plain.push_back(times[size]);
    std::printf("\n%-8s  %9.1f us", kSizes[size].name, median(plain));
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      std::vector<double> ratios;
      for (std::size_t round = 0; round < rounds[way].size(); ++round) {
        ratios.push_back(rounds[way][round][size] / plain[round]);
      }
      if (ratios.empty()) continue;
      std::printf("  %12.2f", median(ratios));
    }
  }
  std::printf("\n");
}

}  // namespace
}  // namespace ripeline

int main() {
  ripeline::run();
  return 0;
}
