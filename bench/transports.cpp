// What a message costs over each of the transports between two processes of this host.
//
// Half a round trip of messages of one part each, of 64 bytes to 16 MiB, whose parts lie where they
// came: what is sent back is another buffer, which is never written. Every round measures all
// transports one after another; the table has the median of the rounds over Unix sockets, and of
// UCX over shared memory and over TCP the median of the rounds' ratios to it: below 1 it wins.
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
#include <vector>

#include "runtime/transport/socket.h"
#include "runtime/transport/ucx.h"

namespace ripeline {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kRounds = 7;
struct Size {
  const char* name;
  std::size_t bytes;
  int messages;  // there and back, in a round
};
constexpr std::array kSizes = {Size{"64 B", 64, 2000}, Size{"64 KiB", 64 << 10, 500},
                               Size{"1 MiB", 1 << 20, 60}, Size{"16 MiB", 16 << 20, 8}};
struct Way {
  const char* name;
  const char* transports;  // of UCX; null: sockets
  const char* devices;
};
constexpr std::array kWays = {Way{"Unix sockets", nullptr, nullptr},
                              Way{"UCX, memory", "posix,cma,self", "all"},
                              Way{"UCX, TCP", "tcp,self", "lo"}};
// Microseconds by size.
using Times = std::array<double, kSizes.size()>;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_transports: %s\n", message.c_str());
  std::_Exit(1);
}

void require(const core::Status& status) {
  if (!status.ok()) fail(status.message());
}

std::unique_ptr<runtime::Transport> connect(const Way& way, const std::string& folder, int rank) {
  runtime::SocketOptions options;
  options.rank = rank;
  options.ranks = 2;
  std::unique_ptr<runtime::Transport> transport;
  require(runtime::connect_in_folder(options, folder, transport));
  if (way.transports == nullptr) return transport;
  setenv("UCX_TLS", way.transports, 1);
  setenv("UCX_NET_DEVICES", way.devices, 1);
  require(runtime::connect_ucx({}, transport));
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

Times run_rank(runtime::Transport& transport) {
  Times times{};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const runtime::Payload payload = runtime::payload_of(runtime::Blob(kSizes[i].bytes));
    Clock::time_point start;
    for (int m = -1; m < kSizes[i].messages; ++m) {  // the first one finds no buffers
      if (m == 0) start = Clock::now();
      if (transport.self() == 0) send(transport, payload);
      receive(transport);
      if (transport.self() == 1) send(transport, payload);
    }
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    times[i] = time.count() / (2 * kSizes[i].messages);
  }
  require(transport.finish(60s));
  return times;
}

pid_t in_process(const std::function<void()>& act) {
  const pid_t pid = fork();
  if (pid < 0) fail("cannot fork");
  if (pid > 0) return pid;
  act();
  std::_Exit(0);
}

Times measure(const Way& way) {
  std::string folder = "/tmp/ripeline-bench-XXXXXX";
  std::array<int, 2> ends{};
  if (mkdtemp(folder.data()) == nullptr || pipe(ends.data()) != 0)
    fail("cannot make a folder or pipe");
  std::array<pid_t, 2> pids{};
  for (int rank = 0; rank < 2; ++rank) {
    pids[static_cast<std::size_t>(rank)] = in_process([&] {
      const auto transport = connect(way, folder, rank);
      const Times times = run_rank(*transport);
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
  rmdir(folder.c_str());
  if (!is_whole) fail("a rank said nothing");
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run() {
  std::array<std::vector<Times>, kWays.size()> rounds;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      if (kWays[way].transports != nullptr && !runtime::has_ucx()) continue;
      rounds[way].push_back(measure(kWays[way]));
    }
  }
  std::printf("%-8s  %12s", "message", kWays[0].name);
  for (std::size_t way = 1; way < kWays.size(); ++way) std::printf("  %12s", kWays[way].name);
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    std::vector<double> plain;
    for (const Times& times : rounds[0]) plain.push_back(times[size]);
    std::printf("\n%-8s  %9.1f us", kSizes[size].name, median(plain));
    for (std::size_t way = 1; way < kWays.size(); ++way) {
      std::vector<double> ratios;
      for (std::size_t round = 0; round < rounds[way].size(); ++round) {
        ratios.push_back(rounds[way][round][size] / plain[round]);
      }
      if (ratios.empty()) continue;
      const double ratio = median(ratios);
      std::printf("  %5.2f %s", ratio, ratio < 1 ? "wins  " : "loses ");
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
