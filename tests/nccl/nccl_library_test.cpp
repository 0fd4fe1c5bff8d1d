// Tests the plug-in's calls on the fake of NCCL.
#include "runtime/cuda/nccl/nccl_library.h"

#include <gtest/gtest.h>

#include <barrier>
#include <functional>

#include "runtime/cuda/device_memory.h"
#include "tests/fake_gpu/fake_nccl.h"
#include "tests/fake_gpu/fake_run.h"
#include "tests/nccl/fake_library.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using testing_support::fake_nccl;
using testing_support::in_threads;

class NcclLibraryTest : public testing_support::FakeGpuTest {
 protected:
  // Runs `body` for two ranks, each with a stream; its arguments are rank, communicator, stream.
  using Body = std::function<void(int, NcclComm&, const Stream&)>;
  static void in_two_ranks(const Body& body) {
    fake_gpu::begin({.devices = 2});
    NcclId id{};
    ASSERT_TRUE(fake_nccl().make_id(id).ok());
    std::barrier both_are_there(2);
    in_threads(2, [&](int rank) {
      const fake_gpu::Host host;
      both_are_there.arrive_and_wait();  // before any of them waits for the other
      ASSERT_TRUE(use_device(rank).ok());
      Stream stream;
      ASSERT_TRUE(Stream::make(Stream::Priority::highest, stream).ok());
      std::unique_ptr<NcclComm> comm;
      const Status status = fake_nccl().connect(id, {.rank = rank, .size = 2}, comm);
      ASSERT_TRUE(status.ok()) << status.message();
      body(rank, *comm, stream);
    });
  }
  // The memory of the fake device is memory of this process.
  static double& value_in(const DeviceMemory::Own& memory) {
    return *reinterpret_cast<double*>(memory.data());
  }
  static DeviceMemory::Own number(int device, double value) {
    DeviceMemory::Own memory;
    EXPECT_TRUE(DeviceMemory(device, {}).allocate(sizeof value, memory).ok());
    value_in(memory) = value;
    return memory;
  }
};

TEST_F(NcclLibraryTest, what_is_sent_is_received) {
  in_two_ranks([](int rank, NcclComm& comm, const Stream& stream) {
    const DeviceMemory::Own memory = number(rank, rank == 0 ? 7 : 0);
    const Status status = rank == 0 ? comm.send(memory.data(), sizeof(double), 1, stream.get())
                                    : comm.receive(memory.data(), sizeof(double), 0, stream.get());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(stream.sync().ok());
    EXPECT_EQ(value_in(memory), 7);
    EXPECT_TRUE(comm.health().ok());
    EXPECT_TRUE(comm.finish().ok());
  });
  EXPECT_EQ(fake_gpu::communicators(), 0);
  testing_support::expect_all_is_back();
}

TEST_F(NcclLibraryTest, a_sum_is_the_same_at_both) {
  in_two_ranks([](int rank, NcclComm& comm, const Stream& stream) {
    const DeviceMemory::Own memory = number(rank, rank + 1);
    const Status status =
        comm.reduce(memory.data(), memory.data(), 1, NcclType::float64, NcclSum::sum, stream.get());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(stream.sync().ok());
    EXPECT_EQ(value_in(memory), 3);
    EXPECT_TRUE(comm.finish().ok());
  });
}

// An operation without its other half never ends, unless it is aborted.
TEST_F(NcclLibraryTest, an_abort_ends_what_waits_and_every_later_call) {
  in_two_ranks([](int rank, NcclComm& comm, const Stream& stream) {
    const DeviceMemory::Own memory = number(rank, 1);
    const auto exchange = [&] {
      return rank == 0 ? comm.send(memory.data(), sizeof(double), 1, stream.get())
                       : comm.receive(memory.data(), sizeof(double), 0, stream.get());
    };
    EXPECT_TRUE(exchange().ok());
    EXPECT_TRUE(stream.sync().ok());
    if (rank == 1) {
      EXPECT_TRUE(exchange().ok());  // a second exchange without its other half
    }
    comm.abort();
    EXPECT_TRUE(stream.sync().ok());
    EXPECT_FALSE(exchange().ok());
    EXPECT_FALSE(comm.health().ok());
    EXPECT_FALSE(comm.finish().ok());
  });
  EXPECT_EQ(fake_gpu::communicators(), 0);
}

}  // namespace
}  // namespace ripeline::runtime::cuda
