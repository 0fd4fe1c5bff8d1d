// Tests that a long run takes no more memory, descriptors and threads per process than a short one.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine.h"
#include "runtime/network/buffer_pool.h"
#include "runtime/protocol/neighbours.h"
#include "runtime/run_trace.h"
#include "simulate/interpreter.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"

namespace ripeline::runtime {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 3;
constexpr int kMicrobatches = 4;
constexpr int kWarmUp = 1600;
constexpr int kSpan = 1200;  // steps
constexpr int kSpans = 2;
constexpr std::size_t kMessageBytes = 4096;
// The limit for growth in the span that grows least. Allocators, the trace's buffers and waiting
// messages may grow by this much in some spans, but a leak grows in every span. A leak of 200 bytes
// per step would exceed the limit.
constexpr std::int64_t kNoise = 128 << 10;

struct Use {
  std::int64_t bytes = 0;  // private memory
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
};

std::int64_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

Use use_of_this_process() {
  Use use{.descriptors = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
  std::ifstream in("/proc/self/smaps_rollup");
  for (std::string word; in >> word;) {
    std::int64_t kilobytes = 0;
    if (word.starts_with("Private_") && in >> kilobytes) use.bytes += kilobytes << 10;
  }
  return use;
}

// Sends each consumer a message of its own.
class MessageWork final : public Work {
 public:
  core::Status begin_step(std::int64_t, int) override { return {}; }
  core::Status run(Call& call) override {
    for (Output& output : call.outputs) {
      Bytes part = pool_.take(output.edge, kMessageBytes);
      part.data[0] = std::byte{1};
      output.payload.head.resize(64);
      output.payload.parts = {std::move(part)};
    }
    return {};
  }

 private:
  network::HostBufferPool pool_;
};

// Runs a rank. Returns its growth as text, or the error of a call; empty if there is neither.
std::string run_rank(const testing_support::ProvedText& proved, int rank,
                     const std::string& folder) {
  const core::ProgramFacts& facts = proved.facts();
  network::SocketOptions options = testing_support::socket_options(rank, kRanks);
  options.neighbours = protocol::neighbours_of(rank, {.ranks = kRanks}, facts);
  std::unique_ptr<Transport> transport;
  if (core::Status s = network::connect_in_folder(options, folder + "/run", transport); !s.ok())
    return s.message();
  simulate::InterpretedArbiter arbiter(proved.program(), facts, rank);
  MessageWork work;
  runtime::Run run(*transport);
  ThreadEngine engine(work, [&run] { run.wake(); });
  RunTrace trace(folder + "/run.json", 50ms);
  protocol::Rank of_run(arbiter, run.layout(), run.self(), {.trace = trace.record()});
  if (core::Status s = trace.open(facts, {.microbatches = kMicrobatches}, run); !s.ok())
    return s.message();
  std::vector<Use> uses;
  for (int step = 0; step < kWarmUp + kSpans * kSpan; ++step) {
    if (step >= kWarmUp && (step - kWarmUp) % kSpan == 0) uses.push_back(use_of_this_process());
    core::Status s = run.step(of_run, engine, step, kMicrobatches);
    if (s.ok()) s = trace.step_ended();
    std::vector<Blob> all;
    if (s.ok()) s = run.gather("norms/" + std::to_string(step), {}, all);
    if (!s.ok()) return s.message();
  }
  uses.push_back(use_of_this_process());
  const Use& before = uses.front();
  const Use& after = uses.back();
  if (core::Status s = trace.close(); !s.ok()) return s.message();
  if (core::Status s = run.finish(30s); !s.ok()) return s.message();
  if (after.descriptors != before.descriptors || after.threads != before.threads)
    return std::to_string(after.descriptors - before.descriptors) + " descriptors and " +
           std::to_string(after.threads - before.threads) + " threads more";
  std::int64_t grown = after.bytes - before.bytes;
  for (std::size_t i = 1; i < uses.size(); ++i)
    grown = std::min(grown, uses[i].bytes - uses[i - 1].bytes);
  return grown <= kNoise ? "" : std::to_string(grown) + " bytes more in every span";
}

TEST(Growth, of_thousands_of_steps_is_none) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps what is freed";
#endif
  const testing_support::ProvedText proved("bf", kRanks);
  const testing_support::TemporaryFolder folder;
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string said = run_rank(proved, rank, folder.path());
      { std::ofstream(folder.path() + "/said-" + std::to_string(rank)) << said; }
      _exit(said.empty() ? 0 : 1);
    }
    ranks.push_back(child);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    ASSERT_EQ(waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0),
              ranks[static_cast<std::size_t>(rank)]);
    std::ifstream in(folder.path() + "/said-" + std::to_string(rank));
    const std::string said{std::istreambuf_iterator<char>(in), {}};
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "rank " << rank << ": " << said << ", status " << status;
  }
}

}  // namespace
}  // namespace ripeline::runtime
