// Tests for any device: they run on the fake device and, if there is a GPU, also on the GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/clock.h"
#include "runtime/network/local.h"
#include "tests/cuda/device_run.h"
#include "tests/cuda/programs.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using testing_support::DeviceRun;
using testing_support::in_threads;
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

// When the compute stream has released a buffer, the next stream writes to the buffer only after
// all work that the compute stream was given before the release.
TEST_F(DeviceTest, memory_that_is_still_read_is_not_written_to) {
  constexpr std::size_t kSize = 1 << 20;
  Stream other;
  ASSERT_TRUE(Stream::make(Stream::Priority::highest, other).ok());
  network::HostBufferPool pinned = make_pinned_pool();
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
    buffer = {};  // while the stream still has to read the buffer
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
  run.run(8, 6);
  run.toys().expect_reference(8, 6);
  const std::size_t allocations = run.allocations();
  run.run(8, 6);
  // In a step, one more buffer of each kind may be in use at once than in earlier steps.
  EXPECT_LE(run.allocations(), allocations + 4);
}

// The device measures times, on the host's clock. A task begins after its inputs' tasks have ended.
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
  constexpr core::Time kTie = std::chrono::milliseconds(5);  // a busy host may see an end late
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

// A peer's loss is reported after all that the peer sent, even what is being copied at that moment.
TEST_F(DeviceTest, a_peer_is_lost_after_what_it_has_sent) {
  constexpr std::size_t kSize = 1 << 20;
  auto group = network::make_local_group(2);
  network::HostBufferPool pinned = make_pinned_pool();
  DeviceMemory memory(0, {stream_.get()});
  std::vector<std::unique_ptr<DeviceTransport>> devices;
  for (const auto& inner : group) {
    devices.push_back(std::make_unique<DeviceTransport>(
        *inner, pinned, memory, DeviceTransportOptions{.carrier = CarrierKind::staged}));
  }
  in_threads(2, [&](int r) {
    const Status status = devices[static_cast<std::size_t>(r)]->connect();
    EXPECT_TRUE(status.ok()) << status.message();
  });
  EXPECT_EQ(devices[0]->carriers(), "staged with rank 1 (as it was told)");
  constexpr int kMessages = 5;
  for (int i = 0; i < kMessages; ++i) {
    Payload payload;
    payload.parts.push_back(pinned.take(-1, kSize));
    std::memset(payload.parts[0].data, i, kSize);
    ASSERT_TRUE(devices[1]->send(0, {signals::Data{{i, {}}}}, std::move(payload)).ok());
  }
  devices[1].reset();
  group[1].reset();
  std::vector<Delivery> deliveries;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (deliveries.size() < kMessages + 1 && std::chrono::steady_clock::now() < last) {
    const Status status = devices[0]->poll(std::chrono::milliseconds(1), deliveries);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_EQ(deliveries.size(), kMessages + 1U);
  EXPECT_TRUE(deliveries.back().envelope.is<signals::Lost>());
  for (int i = 0; i < kMessages; ++i) {
    const Bytes& part = deliveries[static_cast<std::size_t>(i)].payload.parts.at(0);
    EXPECT_EQ(part.device, 0);
    const Bytes seen = pinned.take(-1, kSize);
    ASSERT_EQ(cudaMemcpyAsync(seen.data, part.data, kSize, cudaMemcpyDeviceToHost, stream_.get()),
              cudaSuccess);
    ASSERT_TRUE(stream_.sync().ok());
    const auto number =
        std::get<signals::Data>(deliveries[static_cast<std::size_t>(i)].envelope.signal).step;
    EXPECT_EQ(seen.data[kSize - 1], static_cast<std::byte>(number));
  }
}

}  // namespace
}  // namespace ripeline::runtime::cuda
