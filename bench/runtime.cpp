// The runtime's cost per task: the dispatch, and the task's message to the next rank.
//
// The first table runs bf (one backward if any is ready, then one forward) with empty tasks and
// messages of 64 bytes, 256 microbatches per step, between processes over Unix sockets and between
// threads, with the generated arbiter and with the interpreted one. The time of a task is rank 0's
// step divided by its tasks, including messages and waits for other ranks. The table has the
// median, the least and the most over steps. Its column `hops` is computed from a plain ping-pong
// of 64 bytes over a Unix socket in the same run, where a hop is half a round trip.
//
// With the memory of 1F1B, at most as many microbatches are in flight as there are ranks. Each of
// them makes 2 (ranks - 1) hops before it has returned, and rank 0 runs 2 tasks for each. So hops
// alone take (ranks - 1) / ranks of a hop per task, which is the column `hops`.
//
// In the second table tasks sleep, as if a GPU worked. Messages of up to 16 MiB move between 4
// processes. The kernel's buffers are those that Debian allows a user (208 KiB) or root (4 MiB).
// Tasks run in the loop's thread or in a separate one, and links are unbounded or channels of 2
// slots. A number is the time of a step, divided by that of the same tasks with messages of 64
// bytes over unbounded links in the same round; it is the median over rounds. All runs have the
// memory of 1F1B, with one activation less from rank to rank.
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
#include <thread>
#include <vector>

#include "bench/awake.h"
#include "bf_2.h"
#include "bf_4.h"
#include "lower/facts.h"
#include "runtime/network/buffer_pool.h"
#include "runtime/network/local.h"
#include "runtime/network/socket.h"
#include "runtime/run.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/library.h"

namespace ripeline {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kMicrobatches = 256;
constexpr std::size_t kMessageBytes = 64;
constexpr int kWarmUp = 5;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_runtime: %s\n", message.c_str());
  std::exit(1);
}

void require(const core::Status& status) {
  if (!status.ok()) fail(status.message());
}

// Small messages are in the payload's head; others are in one buffer, which is never written to.
class EmptyWork final : public runtime::Work {
 public:
  explicit EmptyWork(std::size_t bytes = kMessageBytes, std::chrono::nanoseconds time = {})
      : bytes_(bytes), time_(time), buffer_(pool_.take(-1, bytes)) {
    std::fill_n(buffer_.data, bytes, std::byte{1});
  }
  core::Status begin_step(std::int64_t, int) override { return {}; }
  core::Status run(runtime::Call& call) override {
    if (time_.count() > 0) std::this_thread::sleep_for(time_);
    for (runtime::Output& output : call.outputs) {
      if (bytes_ <= kMessageBytes) {
        output.payload.head.resize(bytes_);
      } else {
        output.payload.parts = {buffer_};
      }
    }
    return {};
  }

 private:
  runtime::network::HostBufferPool pool_;
  std::size_t bytes_;
  std::chrono::nanoseconds time_;
  runtime::Bytes buffer_;
};

// Makes the arbiter of a rank. The pointer also owns the objects that the arbiter refers to.
using MakeArbiter = std::function<std::shared_ptr<core::Arbiter>(int rank)>;

struct Interpreted {
  Interpreted(int ranks, int rank, const std::string& text = spec::library_text("bf").value())
      : program(spec::compile({"bf.ripe", text}, {.defines = {{"ranks", ranks}}, .dispatch = {}})
                    .value()),
        facts(lower::facts_of(program)),
        arbiter(program, facts.facts(), rank) {}
  spec::Program program;
  core::OwnedFacts facts;
  simulate::InterpretedArbiter arbiter;
};

std::shared_ptr<core::Arbiter> interpreted(int ranks, int rank) {
  const auto all = std::make_shared<Interpreted>(ranks, rank);
  return {all, &all->arbiter};
}

std::shared_ptr<core::Arbiter> generated(int ranks, int rank) {
  if (ranks == 2) return std::make_shared<bf_2::Arbiter>(rank);
  return std::make_shared<bf_4::Arbiter>(rank);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Runs one rank's steps, and returns the microseconds per task of each step after the warm-up.
std::vector<double> run_rank(core::Arbiter& arbiter, runtime::Transport& transport, int steps) {
  EmptyWork work;
  runtime::InlineEngine engine(work);
  runtime::Run run(transport);
  runtime::protocol::Rank rank(arbiter, run.layout(), run.self());
  std::vector<double> result;
  std::vector<runtime::Blob> all;
  for (int step = 0; step < kWarmUp + steps; ++step) {
    require(run.gather("the next step", {}, all));
    require(run.step(rank, engine, step, kMicrobatches));
    const std::chrono::duration<double, std::micro> time = rank.report().duration;
    if (step >= kWarmUp) result.push_back(time.count() / static_cast<double>(rank.report().tasks));
  }
  require(run.finish(60s));
  return result;
}

// Forks a process that calls `act` and then ends.
pid_t in_process(const std::function<void()>& act) {
  const pid_t pid = fork();
  if (pid < 0) fail("cannot fork");
  if (pid > 0) return pid;
  act();
  std::_Exit(0);
}

void wait_for(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || status != 0) fail("a rank failed");
}

void transfer(int fd, void* data, std::size_t bytes, bool out) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = out ? write(fd, at, bytes) : read(fd, at, bytes);
    if (n <= 0) fail("a pipe or socket has closed");
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

std::vector<double> over_sockets(int ranks, const MakeArbiter& make, int steps) {
  std::string folder = "/tmp/ripeline-bench-XXXXXX";
  std::array<int, 2> ends{};
  if (mkdtemp(folder.data()) == nullptr || pipe(ends.data()) != 0)
    fail("cannot make a folder or pipe");
  std::vector<pid_t> pids;
  for (int rank = 0; rank < ranks; ++rank) {
    pids.push_back(in_process([&] {
      const auto arbiter = make(rank);
      runtime::network::SocketOptions options;
      options.rank = rank;
      options.ranks = ranks;
      options.program_hash = arbiter->facts().hash;
      std::unique_ptr<runtime::Transport> transport;
      require(runtime::network::connect_in_folder(options, folder, transport));
      std::vector<double> result = run_rank(*arbiter, *transport, steps);
      if (rank == 0) transfer(ends[1], result.data(), result.size() * sizeof(double), true);
    }));
  }
  close(ends[1]);
  std::vector<double> result(static_cast<std::size_t>(steps));
  transfer(ends[0], result.data(), result.size() * sizeof(double), false);
  close(ends[0]);
  for (const pid_t pid : pids) wait_for(pid);
  rmdir(folder.c_str());
  return result;
}

std::vector<double> over_threads(int ranks, const MakeArbiter& make, int steps) {
  auto group = runtime::network::make_local_group(ranks);
  std::vector<double> result;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto arbiter = make(rank);
      std::vector<double> mine = run_rank(*arbiter, *group[static_cast<std::size_t>(rank)], steps);
      if (rank == 0) result = std::move(mine);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return result;
}

// The microseconds of a hop, which is half a round trip: the median over batches.
double ping_pong() {
  constexpr int kBatches = 21;
  constexpr int kRounds = 1000;
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("cannot make sockets");
  std::array<char, kMessageBytes> message{};
  const pid_t echo = in_process([&] {
    for (int i = 0; i < kBatches * kRounds; ++i) {
      transfer(ends[1], message.data(), message.size(), false);
      transfer(ends[1], message.data(), message.size(), true);
    }
  });
  std::vector<double> batches;
  for (int batch = 0; batch < kBatches; ++batch) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kRounds; ++i) {
      transfer(ends[0], message.data(), message.size(), true);
      transfer(ends[0], message.data(), message.size(), false);
    }
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    batches.push_back(time.count() / (2 * kRounds));
  }
  wait_for(echo);
  close(ends[0]);
  close(ends[1]);
  return median(batches);
}

// A kind of step whose tasks sleep.
struct Load {
  const char* name;
  std::size_t bytes;
  std::chrono::milliseconds task;
  bool channels = false;
};
constexpr int kLoadRanks = 4;
constexpr int kLoadMicrobatches = 8;
constexpr int kUserBytes = 212992;  // Debian's net.core.wmem_max

struct Way {
  bool thread;
  int kernel_bytes;
};

std::shared_ptr<core::Arbiter> loaded(const Load& load, int rank) {
  std::string text = spec::library_text("bf").value();
  if (load.channels) {
    const auto put = [&text](const std::string& before, const std::string& what) {
      text.insert(text.find(before), what);
    };
    put("  op F", "  channel in per stage { slots 2; }\n  channel back per stage { slots 2; }\n");
    put(";  acquires", " via in");
    put(";  releases", " via back");
  }
  const auto all = std::make_shared<Interpreted>(kLoadRanks, rank, text);
  return {all, &all->arbiter};
}

// The seconds of the second step, which all ranks begin at the same time.
double step_of(const Load& load, const Way& way) {
  std::string folder = "/tmp/ripeline-bench-XXXXXX";
  std::array<int, 2> ends{};
  if (mkdtemp(folder.data()) == nullptr || pipe(ends.data()) != 0)
    fail("cannot make a folder or pipe");
  std::vector<pid_t> pids;
  for (int rank = 0; rank < kLoadRanks; ++rank) {
    pids.push_back(in_process([&] {
      const auto arbiter = loaded(load, rank);
      runtime::network::SocketOptions options;
      options.rank = rank;
      options.ranks = kLoadRanks;
      options.program_hash = arbiter->facts().hash;
      options.kernel_bytes = way.kernel_bytes;
      std::unique_ptr<runtime::Transport> transport;
      require(runtime::network::connect_in_folder(options, folder, transport));
      EmptyWork work(load.bytes, load.task);
      runtime::Run run(*transport);
      std::unique_ptr<runtime::TaskEngine> engine;
      if (way.thread) {
        engine = std::make_unique<runtime::ThreadEngine>(work, [&run] { run.wake(); });
      } else {
        engine = std::make_unique<runtime::InlineEngine>(work);
      }
      runtime::protocol::Rank of_run(*arbiter, run.layout(), rank);
      double seconds = 0;
      std::vector<runtime::Blob> all;
      for (int step = 0; step < 2; ++step) {
        require(run.gather("the next step", {}, all));
        const Clock::time_point begin = Clock::now();
        require(run.step(of_run, *engine, step, kLoadMicrobatches));
        require(run.gather("its end", {}, all));
        seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      }
      if (rank == 0) transfer(ends[1], &seconds, sizeof seconds, true);
      require(run.finish(60s));
    }));
  }
  close(ends[1]);
  double seconds = 0;
  transfer(ends[0], &seconds, sizeof seconds, false);
  close(ends[0]);
  for (const pid_t pid : pids) wait_for(pid);
  rmdir(folder.c_str());
  return seconds;
}

void run_loads() {
  constexpr int kRounds = 5;
  constexpr std::array kLoads = {Load{"64 KiB", 64 << 10, 5ms}, Load{"1 MiB", 1 << 20, 20ms},
                                 Load{"16 MiB", 16 << 20, 60ms},
                                 Load{"64 B, channels", 64, 20ms, true}};
  constexpr std::array kWays = {Way{false, kUserBytes}, Way{false, 4 << 20}, Way{true, kUserBytes},
                                Way{true, 4 << 20}};
  std::printf("\n%-16s %7s  %13s  %13s  %13s  %13s\n", "message", "task", "loop, 208 KiB",
              "loop, 4 MiB", "thread, 208 KiB", "thread, 4 MiB");
  for (const Load& load : kLoads) {
    std::array<std::vector<double>, kWays.size()> ratios;
    for (int round = 0; round < kRounds; ++round) {
      const Load small{"", kMessageBytes, load.task};
      const double plain = step_of(small, {true, 4 << 20});
      for (std::size_t way = 0; way < kWays.size(); ++way) {
        ratios[way].push_back(step_of(load, kWays[way]) / plain);
      }
    }
    std::printf("%-16s %4d ms", load.name, static_cast<int>(load.task.count()));
    for (const auto& of_way : ratios) std::printf("  %13.3f", median(of_way));
    std::printf("\n");
    std::fflush(stdout);
  }
}

void run() {
  const double hop = ping_pong();
  std::printf("%u cores; a hop of %zu bytes over a plain Unix socket: %.1f us\n\n",
              std::thread::hardware_concurrency(), kMessageBytes, hop);
  std::printf("%-8s %5s  %-11s  %9s  %9s  %6s  %6s  %6s  %5s\n", "ranks", "over", "arbiter",
              "in flight", "us/task", "least", "most", "hops", "ratio");
  // Processes come first, since a process with threads must not fork.
  for (const bool sockets : {true, false}) {
    for (const int ranks : {2, 4}) {
      for (const bool is_generated : {true, false}) {
        const MakeArbiter make = [&](int rank) {
          return is_generated ? generated(ranks, rank) : interpreted(ranks, rank);
        };
        const int steps = is_generated ? 101 : 11;
        std::vector<double> times =
            sockets ? over_sockets(ranks, make, steps) : over_threads(ranks, make, steps);
        const auto [least, most] = std::minmax_element(times.begin(), times.end());
        const double hops = hop * (ranks - 1) / ranks;
        std::printf("%-8d %5s  %-11s  %3d of %3d  %9.1f  %6.1f  %6.1f  %6.1f  %5.1f\n", ranks,
                    sockets ? "unix" : "local", is_generated ? "generated" : "interpreted", ranks,
                    kMicrobatches, median(times), *least, *most, hops, median(times) / hops);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace ripeline

int main() {
  const ripeline::bench::Awake awake;
  std::printf("%s\n", awake.line());
  ripeline::run();
  ripeline::run_loads();
  return 0;
}
