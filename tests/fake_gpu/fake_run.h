// What tests on the fake device have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/cuda/device_run.h"
#include "tests/cuda/programs.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/runtime/ranks.h"

namespace ripeline::testing_support {

inline std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline std::string misuses() {
  std::string text;
  for (const std::string& one : fake_gpu::misuses()) text += one + "\n";
  return text;
}

// After a run on a device that did not fail.
inline void expect_all_is_back() {
  const fake_gpu::Usage usage = fake_gpu::usage();
  EXPECT_EQ(misuses(), "");
  EXPECT_EQ(usage.device_bytes, 0U);
  EXPECT_EQ(usage.pinned_bytes, 0U);
  EXPECT_EQ(usage.streams, 0);
  EXPECT_EQ(usage.events, 0);
}

// Ranks as processes, of which each has memory of its own.
inline DeviceRunOptions as_processes() {
  DeviceRunOptions options;
  options.enter = [](int rank) { fake_gpu::be_process(rank); };
  return options;
}

// How the messages of a run go.
enum class Way : std::uint8_t { staged, ipc, mixed };

// Mixed: ranks are on two hosts, so neighbours are on one or on both.
inline DeviceRunOptions by_way(Way way) {
  DeviceRunOptions options = as_processes();
  if (way == Way::staged) options.carrier = runtime::CarrierKind::staged;
  if (way == Way::ipc) options.carrier = runtime::CarrierKind::ipc;
  if (way == Way::mixed) options.host = [](int rank) { return rank < 2 ? "one" : "other"; };
  return options;
}

class FakeGpuTest : public testing::Test {
 protected:
  void SetUp() override { fake_gpu::begin({}); }
  void TearDown() override {
    fake_gpu::be_process(-1);
    fake_gpu::begin({});  // it may have been told to fail
  }
};

}  // namespace ripeline::testing_support
