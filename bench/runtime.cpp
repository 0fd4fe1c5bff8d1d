// What dispatch plus message costs when the stages do nothing.
//
// Ranks in a chain run the generated arbiter of bf: a forward with an empty payload to the next
// rank, a backward to the one before. Two measures, medians over steps, seen by rank 0:
//   latency     steps of one microbatch, which visits every rank and returns: time / messages on
//   that way throughput  steps of many microbatches: time / tasks of a rank
// The raw chain does the same as latency with nothing but blocking reads and writes of a frame's
// header over Unix sockets: what the kernel alone takes, in the same run.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bf_2.h"
#include "bf_4.h"
#include "runtime/transport/local.h"
#include "runtime/transport/socket.h"
#include "runtime/worker.h"

namespace ripeline {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 20;
constexpr int kSingleSteps = 2000;  // of one microbatch
constexpr int kFullSteps = 50;
constexpr int kMicrobatches = 256;  // of a full step
constexpr std::size_t kHeaderBytes = 56;

void require(const core::Status& status) {
  if (status.ok()) return;
  std::cerr << "bench_runtime: " << status.message() << '\n';
  std::exit(1);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

class EmptyWork final : public runtime::Work {
 public:
  core::Status begin_step(std::int64_t, int) override { return {}; }
  core::Status run(const runtime::TaskInfo&, std::span<runtime::Input>, bool,
                   runtime::Payload&) override {
    return {};
  }
};

std::unique_ptr<core::Arbiter> make_arbiter(int ranks, int rank) {
  return ranks == 2 ? bf_2::make_arbiter(rank) : bf_4::make_arbiter(rank);
}

struct Result {
  double latency = 0;     // µs per message
  double throughput = 0;  // µs per task
};

Result run_rank(runtime::Transport& transport) {
  const int ranks = transport.ranks();
  const auto arbiter = make_arbiter(ranks, transport.rank());
  EmptyWork work;
  runtime::Worker worker(*arbiter, transport, work);
  std::int64_t step = 0;
  const auto time_steps = [&](int steps, int microbatches) {
    std::vector<double> times;
    runtime::StepReport report;
    for (int i = 0; i < steps; ++i) {
      require(worker.step(step++, microbatches, report));
      if (i >= kWarmUp) times.push_back(microseconds(report.duration));
    }
    return median(std::move(times));
  };
  Result result;
  result.latency = time_steps(kWarmUp + kSingleSteps, 1) / (2 * (ranks - 1));
  result.throughput = time_steps(kWarmUp + kFullSteps, kMicrobatches) / (2 * kMicrobatches);
  require(transport.finish(60s));
  return result;
}

// Runs run(rank) of all ranks but 0 in a process each, and run(0) here.
Result in_processes(int ranks, const std::function<Result(int)>& run) {
  std::vector<pid_t> children;
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      run(rank);
      _exit(0);
    }
    children.push_back(pid);
  }
  const Result result = run(0);
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  return result;
}

Result over_sockets(int ranks) {
  std::string folder = "/tmp/ripeline-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    require({core::StatusCode::failed, "cannot make a folder in /tmp"});
  const Result result = in_processes(ranks, [&](int rank) {
    runtime::SocketOptions options;
    options.rank = rank;
    options.ranks = ranks;
    options.folder = folder;
    options.program_hash = ranks == 2 ? bf_2::facts.hash : bf_4::facts.hash;
    std::unique_ptr<runtime::Transport> transport;
    require(runtime::connect_sockets(options, transport));
    return run_rank(*transport);
  });
  rmdir(folder.c_str());
  return result;
}

Result over_threads(int ranks) {
  const auto group = runtime::make_local_group(ranks);
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks; ++rank) {
    threads.emplace_back([&group, rank] { run_rank(*group[static_cast<std::size_t>(rank)]); });
  }
  const Result result = run_rank(*group[0]);
  for (std::thread& thread : threads) thread.join();
  return result;
}

using Header = std::array<char, kHeaderBytes>;

bool pass(int from, int to) {
  Header header{};
  return read(from, header.data(), header.size()) == kHeaderBytes &&
         write(to, header.data(), header.size()) == kHeaderBytes;
}

// Up the chain and back, with blocking calls alone.
Result raw_chain(int ranks) {
  std::vector<std::array<int, 2>> links(
      static_cast<std::size_t>(ranks - 1));  // between rank i and i + 1
  for (auto& link : links) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, link.data()) != 0) {
      require({core::StatusCode::failed, "cannot make a pair of sockets"});
    }
  }
  const Result result = in_processes(ranks, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const int before = rank > 0 ? links[at - 1][1] : -1;
    const int next = rank < ranks - 1 ? links[at][0] : -1;
    std::vector<double> times;
    for (int i = 0; i < kWarmUp + kSingleSteps; ++i) {
      if (rank > 0) {
        if (!(next < 0 ? pass(before, before) : pass(before, next) && pass(next, before))) break;
        continue;
      }
      Header header{};
      const Clock::time_point start = Clock::now();
      if (write(next, header.data(), header.size()) != kHeaderBytes ||
          read(next, header.data(), header.size()) != kHeaderBytes) {
        require({core::StatusCode::failed, "the raw chain broke"});
      }
      if (i >= kWarmUp) times.push_back(microseconds(Clock::now() - start));
    }
    return Result{.latency = rank == 0 ? median(std::move(times)) / (2 * (ranks - 1)) : 0,
                  .throughput = 0};
  });
  for (const auto& link : links) {
    close(link[0]);
    close(link[1]);
  }
  return result;
}

void print(int ranks, const char* what, const Result& result) {
  std::printf("%5d  %-28s %14.1f", ranks, what, result.latency);
  if (result.throughput > 0) {
    std::printf(" %15.1f\n", result.throughput);
  } else {
    std::printf(" %15s\n", "-");
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace ripeline

int main() {
  using namespace ripeline;
  std::printf(
      "Empty stages, empty payloads, generated arbiter of bf, %u cores; medians.\n"
      "Memory: 1F1B's, at most ranks - s microbatches in flight at stage s. Latency: steps of 1 "
      "microbatch;\n"
      "throughput: steps of %d.\n\n%5s  %-28s %14s %15s\n",
      std::thread::hardware_concurrency(), kMicrobatches, "ranks", "transport", "us per message",
      "us per task");
  // Processes first: a process with threads should not fork.
  for (const int ranks : {2, 4}) {
    print(ranks, "raw Unix sockets, no dispatch", raw_chain(ranks));
    print(ranks, "sockets (processes)", over_sockets(ranks));
  }
  for (const int ranks : {2, 4}) print(ranks, "local (threads)", over_threads(ranks));
}
