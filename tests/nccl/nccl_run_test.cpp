// Tests whole runs whose messages are carried by NCCL.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/nccl/nccl_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::cuda {
namespace {

using testing_support::by_nccl;
using testing_support::DeviceRun;
using testing_support::DeviceRunOptions;
using testing_support::expect_all_is_back;
using testing_support::kSequentialChain;
using testing_support::kSplitV;
using testing_support::number_of;
using testing_support::ProvedText;
using testing_support::TemporaryFolder;

class NcclRunTest : public testing_support::FakeGpuTest {};

struct Drawn {
  const char* text;
  int ranks;
  int microbatches;
  bool varies;
  bool over_sockets;
  fake_gpu::Options device;
};

// Draws a run: on one device, where ranks take no room from each other, or on several devices with
// only as much room as is needed. Streams may share queues.
Drawn drawn(std::mt19937_64& draw) {
  const char* const kTexts[] = {kSequentialChain, kSplitV, "1f1b", "zb_h1", "eager_1f1b"};
  Drawn one{.text = kTexts[draw() % std::size(kTexts)],
            .ranks = static_cast<int>(2 + draw() % 3),
            .microbatches = static_cast<int>(1 + draw() % 7),
            .varies = draw() % 2 == 0,
            .over_sockets = draw() % 4 == 0,
            .device = {}};
  one.device.seed = draw();
  one.device.connections = static_cast<int>(draw() % 4);
  one.device.credits = static_cast<int>(draw() % 3);
  if (draw() % 2 == 0) {
    one.device.devices = one.ranks;
    one.device.blocks = 4 * (one.ranks - 1);
  }
  return one;
}

// Makes RIPELINE_FAKE_GPU_RUNS runs, with seeds from RIPELINE_FAKE_GPU_SEED on.
TEST_F(NcclRunTest, runs_at_random_give_the_gradients_of_one_process) {
  const std::uint64_t first = number_of("RIPELINE_FAKE_GPU_SEED", 1);
  const std::uint64_t runs = number_of("RIPELINE_FAKE_GPU_RUNS", 200);
  std::map<std::pair<std::string, int>, std::unique_ptr<ProvedText>> proved;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("RIPELINE_FAKE_GPU_SEED=" + std::to_string(seed) + " RIPELINE_FAKE_GPU_RUNS=1");
    std::mt19937_64 draw(seed);
    const Drawn one = drawn(draw);
    auto& program = proved[{one.text, one.ranks}];
    if (!program) program = std::make_unique<ProvedText>(one.text, one.ranks);
    fake_gpu::begin(one.device);
    {
      DeviceRunOptions options = by_nccl();
      options.varies = one.varies;
      options.own_devices = one.device.devices > 1;
      DeviceRun run(*program, seed, options);
      ASSERT_TRUE(run.status().ok()) << run.status().message();
      const TemporaryFolder folder;
      if (one.over_sockets) run.connect_in(folder.path());
      run.run(2, one.microbatches);
      run.toys().expect_reference(2, one.microbatches);
      EXPECT_EQ(run.taken(), 0U) << "every buffer is back";
      EXPECT_EQ(run.carriers(0).rfind("nccl with rank 1", 0), 0U) << run.carriers(0);
    }
    EXPECT_EQ(fake_gpu::communicators(), 0);
    expect_all_is_back();
    if (HasFailure()) return;
  }
}

// Announcements arrive late and in any order.
TEST_F(NcclRunTest, what_is_announced_in_any_order_and_late_is_right) {
  const ProvedText proved(kSplitV, 3);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    fake_gpu::begin({.seed = seed, .credits = 3});
    {
      DeviceRunOptions options = by_nccl();
      options.varies = seed % 2 == 0;
      options.behind = [seed](Transport& inner) {
        return std::make_unique<testing_support::Shuffled>(
            inner, seed * 10 + static_cast<std::uint64_t>(inner.self()));
      };
      DeviceRun run(proved, seed, options);
      run.run(3, 5);
      run.toys().expect_reference(3, 5);
    }
    EXPECT_EQ(fake_gpu::communicators(), 0);
    expect_all_is_back();
    if (HasFailure()) return;
  }
}

// A transport that stops after some polls, as if its rank ended without a report to the others.
class Stops final : public testing_support::Around {
 public:
  Stops(std::unique_ptr<Transport> inner, int after) : Around(std::move(inner)), left_(after) {}
  core::Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override {
    if (--left_ < 0) return {core::StatusCode::failed, "it stops"};
    return inner_.poll(wait, deliveries);
  }

 private:
  int left_;
};

TEST_F(NcclRunTest, a_rank_that_stops_at_any_time_holds_nobody_up) {
  const ProvedText proved(kSplitV, 3);
  std::mt19937_64 draw(7);
  int stopped = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    fake_gpu::begin({.seed = seed, .connections = static_cast<int>(seed % 3)});
    const int who = static_cast<int>(draw() % 3);
    const auto after = static_cast<int>(std::exp(static_cast<double>(draw() % 7)));
    const auto began = std::chrono::steady_clock::now();
    {
      DeviceRunOptions options = by_nccl();
      options.before = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
        if (inner->self() != who) return inner;
        return std::make_unique<Stops>(std::move(inner), after);
      };
      DeviceRun run(proved, seed, options);
      run.run(2, 5);
      int not_ok = 0;
      for (int rank = 0; rank < 3; ++rank) not_ok += run.toys().rank(rank).status.ok() ? 0 : 1;
      stopped += not_ok > 0 ? 1 : 0;
      EXPECT_TRUE(not_ok == 0 || not_ok == 3) << not_ok;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15))
        << "it is by a loss that they end, and not by silence";
    EXPECT_EQ(fake_gpu::communicators(), 0);
    expect_all_is_back();
    if (HasFailure()) return;
  }
  EXPECT_GT(stopped, 3);
}

TEST_F(NcclRunTest, a_device_that_fails_at_any_call_ends_the_run) {
  const auto runs = static_cast<int>(testing_support::number_of("RIPELINE_FAKE_GPU_FAULTS", 60));
  EXPECT_GE(testing_support::failed_at_any_call(runs, [](int) { return by_nccl(); }), runs / 2);
}

}  // namespace
}  // namespace ripeline::runtime::cuda
