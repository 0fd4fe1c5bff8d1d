// Helpers that the tests on the fake device share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/cuda/device_run.h"
#include "tests/cuda/programs.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/runtime/ranks.h"
#include "tests/support/environment_number.h"

namespace ripeline::testing_support {

inline std::string misuses() {
  std::string text;
  for (const std::string& one : fake_gpu::misuses()) text += one + "\n";
  return text;
}

// Checks, after a run on a device that did not fail, that all memory and objects are released.
inline void expect_all_is_back() {
  const fake_gpu::Usage usage = fake_gpu::usage();
  EXPECT_EQ(misuses(), "");
  EXPECT_EQ(usage.device_bytes, 0U);
  EXPECT_EQ(usage.pinned_bytes, 0U);
  EXPECT_EQ(usage.streams, 0);
  EXPECT_EQ(usage.events, 0);
}

// Options by which ranks count as processes, each with its own memory.
inline DeviceRunOptions as_processes() {
  DeviceRunOptions options;
  options.enter = [](int rank) { fake_gpu::be_process(rank); };
  return options;
}

// How a run's messages are carried.
enum class Way : std::uint8_t { staged, ipc, mixed };

// With `mixed`, ranks 0 and 1 are on one host and the others on another.
inline DeviceRunOptions by_way(Way way) {
  DeviceRunOptions options = as_processes();
  if (way == Way::staged) options.carrier = runtime::cuda::CarrierKind::staged;
  if (way == Way::ipc) options.carrier = runtime::cuda::CarrierKind::ipc;
  if (way == Way::mixed) options.host = [](int rank) { return rank < 2 ? "one" : "other"; };
  return options;
}

// Makes runs whose device fails at a drawn call, with options(i) for run i; returns how many of the
// runs failed. Fails the test if a run ends in a wrong way.
template <class Options>
int failed_at_any_call(int runs, const Options& options) {
  const ProvedText proved(kSplitV, 2);
  std::mt19937_64 draw(number_of("RIPELINE_FAKE_GPU_SEED", 5));
  fake_gpu::begin({.seed = 5});
  {
    DeviceRun whole(proved, 5, options(0));
    whole.run(2, 4);
  }
  const std::int64_t calls = fake_gpu::calls();
  int failed = 0;
  for (int i = 0; i < runs; ++i) {
    // The number of calls that ask whether work is over depends on timing, so early calls are drawn
    // more often. The first calls are made before the run begins.
    const double share = std::uniform_real_distribution<double>(0, 1)(draw);
    const auto at =
        static_cast<std::int64_t>(10 * std::pow(static_cast<double>(calls) / 10, share));
    SCOPED_TRACE("fails at call " + std::to_string(at));
    fake_gpu::begin({.seed = draw(), .fails_at = at});
    DeviceRun run(proved, 5, options(i));
    if (!run.status().ok()) continue;  // failed before the run began
    const TemporaryFolder folder;
    if (i % 2 == 1) run.connect_in(folder.path());
    run.run(2, 4);
    std::string said;
    int not_ok = 0;
    for (int r = 0; r < 2; ++r) {
      const core::Status& status = run.toys().rank(r).status;
      not_ok += status.ok() ? 0 : 1;
      said += status.message() + "\n";
    }
    bool named = false;
    // The last reason means that the transport's memory could not be pinned.
    for (const char* why : {"CUDA could not", "CUDA has no device", "NCCL could not",
                            "there is no memory for a message"}) {
      named = named || said.find(why) != std::string::npos;
    }
    EXPECT_TRUE(not_ok == 0 || named) << said;
    EXPECT_NE(not_ok, 1) << "all end alike";
    failed += not_ok > 0 ? 1 : 0;
  }
  return failed;
}

class FakeGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_gpu::begin({});
    ASSERT_TRUE(runtime::cuda::use_device(0).ok());  // an earlier test may have used another one
  }
  void TearDown() override {
    fake_gpu::be_process(-1);
    fake_gpu::begin({});  // the last device may have been told to fail
  }
};

}  // namespace ripeline::testing_support
