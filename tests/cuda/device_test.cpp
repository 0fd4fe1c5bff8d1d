// On any device: the fake one, and one that is there.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/clock.h"
#include "tests/cuda/device_run.h"
#include "tests/cuda/programs.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using testing_support::DeviceRun;
using testing_support::kSequentialChain;
using testing_support::kSplitV;
using testing_support::ProvedText;

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const Status status = use_device(0);
    if (status.code() == core::StatusCode::refused) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream_).ok());
  }
  Stream stream_;
};

TEST_F(DeviceTest, completions_are_told_once_and_in_the_order_of_the_stream) {
  Completions completions;
  for (std::uint64_t number = 0; number < 20; ++number) {
    ASSERT_TRUE(completions.note(stream_.get(), number).ok());
  }
  std::vector<std::uint64_t> over;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!completions.empty() && std::chrono::steady_clock::now() < last) {
    const Status status = completions.progress(over);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_EQ(over.size(), 20U);
  for (std::uint64_t number = 0; number < 20; ++number) EXPECT_EQ(over[number], number);
}

TEST_F(DeviceTest, memory_that_comes_back_is_taken_again) {
  DeviceMemory memory(0, {stream_.get()});
  const void* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    Bytes bytes;
    const Status status = memory.take(1000, stream_.get(), bytes);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(bytes.size, 1000U);
    EXPECT_EQ(bytes.device, 0);
    EXPECT_EQ(memory.taken(), 1000U);
    if (i == 0) first = bytes.data;
    EXPECT_EQ(bytes.data, first);
  }
  EXPECT_EQ(memory.allocations(), 1U);
  EXPECT_EQ(memory.taken(), 0U);
}

// What the computing stream was given while it had the buffer comes before what the next stream
// writes to it.
TEST_F(DeviceTest, memory_that_is_still_read_is_not_written_to) {
  constexpr std::size_t kSize = 1 << 20;
  Stream other;
  ASSERT_TRUE(Stream::make(Stream::Priority::highest, other).ok());
  HostPlace pinned = make_pinned_place();
  const Bytes ones = pinned.take(-1, kSize);
  const Bytes twos = pinned.take(-1, kSize);
  const Bytes seen = pinned.take(-1, kSize);
  std::memset(ones.data, 1, kSize);
  std::memset(twos.data, 2, kSize);
  DeviceMemory memory(0, {stream_.get()});
  for (int i = 0; i < 50; ++i) {
    Bytes buffer;
    ASSERT_TRUE(memory.take(kSize, stream_.get(), buffer).ok());
    const auto copy = [&](const Bytes& onto, const Bytes& from, cudaStream_t stream) {
      ASSERT_EQ(cudaMemcpyAsync(onto.data, from.data, kSize, cudaMemcpyDefault, stream),
                cudaSuccess);
    };
    copy(buffer, ones, stream_.get());
    copy(seen, buffer, stream_.get());
    buffer = {};  // while the stream still has to read it
    Bytes next;
    ASSERT_TRUE(memory.take(kSize, other.get(), next).ok());
    copy(next, twos, other.get());
    ASSERT_TRUE(other.sync().ok());
    ASSERT_TRUE(stream_.sync().ok());
    ASSERT_EQ(std::memcmp(seen.data, ones.data, kSize), 0) << "time " << i;
  }
}

TEST_F(DeviceTest, trains_as_one_process_does) {
  for (const char* text : {kSequentialChain, kSplitV, "1f1b", "zb_h1"}) {
    SCOPED_TRACE(text);
    const ProvedText proved(text, 2);
    DeviceRun run(proved, 11);
    ASSERT_TRUE(run.status().ok()) << run.status().message();
    run.run(3, 6);
    run.toys().expect_reference(3, 6);
    EXPECT_EQ(run.taken(), 0U);
  }
}

TEST_F(DeviceTest, allocates_nothing_once_a_step_has_had_all_that_it_may_have) {
  const ProvedText proved("1f1b", 3);
  DeviceRun run(proved, 12);
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  run.run(12, 6);
  run.toys().expect_reference(12, 6);
  // At a rank: what may wait to be taken, and what tasks hold, of forwards and backwards.
  EXPECT_LE(run.allocations(), 3U * 4U * 6U);
}

// On the host's clock, as the device has them: a task begins after what it needs has ended.
TEST_F(DeviceTest, tasks_have_the_times_of_the_device) {
  const ProvedText proved("1f1b", 2);
  DeviceRun run(proved, 13);
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  trace::Record record;
  run.toys().rank(0).options.trace = &record;
  const core::Time before = RankClock::host();
  run.run(2, 4);
  const core::Time after = RankClock::host();
  ASSERT_EQ(record.tasks.size(), 16U);
  constexpr core::Time kTie = std::chrono::milliseconds(5);  // a busy host may be late to see it
  core::Time last{0};
  for (const trace::TaskEvent& task : record.tasks) {
    EXPECT_GE(task.start, before - kTie);
    EXPECT_LE(task.end, after + kTie);
    EXPECT_LE(task.start, task.end);
    if (task.step == 0) {
      EXPECT_GE(task.start, last) << "one at a time";
      last = task.end;
    }
  }
}

}  // namespace
}  // namespace ripeline::runtime
