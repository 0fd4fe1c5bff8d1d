// Tests one by one the rules of the fake of NCCL, and of the resources that devices share; and that
// misuse is reported.
#include "tests/fake_gpu/fake_nccl.h"

#include <gtest/gtest.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/nccl_sum.h"

namespace ripeline::testing_support {
namespace {

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  return text;
}
bool says(const std::vector<std::string>& all, const std::string& what) {
  return lines(all).find(what) != std::string::npos;
}

cudaStream_t stream_on(int device) {
  cudaSetDevice(device);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
  return stream;
}
int* number_on(int device, int value) {
  cudaSetDevice(device);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, sizeof(int)), cudaSuccess);
  *static_cast<int*>(data) = value;
  return static_cast<int*>(data);
}
bool is_reached(cudaEvent_t event) { return cudaEventQuery(event) == cudaSuccess; }
cudaEvent_t event_on(int device) {
  cudaSetDevice(device);
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
  return event;
}

using Comms = std::vector<ncclComm_t>;

// The ranks of a communicator, all in this thread: rank r has device r.
Comms communicator(int ranks, ncclConfig_t config = NCCL_CONFIG_INITIALIZER) {
  Comms comms(static_cast<std::size_t>(ranks));
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclGroupStart();
  for (int r = 0; r < ranks; ++r) {
    ncclCommInitRankConfig(&comms[static_cast<std::size_t>(r)], ranks, id, r, &config);
  }
  const ncclResult_t result = ncclGroupEnd();
  EXPECT_EQ(result, config.blocking == 0 ? ncclInProgress : ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  return comms;
}

Comms split(const Comms& parents) {
  Comms comms(parents.size());
  ncclGroupStart();
  for (std::size_t r = 0; r < parents.size(); ++r) {
    ncclCommSplit(parents[r], 0, static_cast<int>(r), &comms[r], nullptr);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  return comms;
}

class FakeNcclTest : public testing::Test {
 protected:
  // Begins with ranks that are connected, since most cases test something else.
  void begin(fake_gpu::Options options = {}) {
    options.devices = 3;
    options.connected = true;
    options.by_itself = false;
    fake_gpu::begin(options);
    for (int r = 0; r < 3; ++r) {
      const auto at = static_cast<std::size_t>(r);
      streams[at] = {stream_on(r), stream_on(r)};
      from[at] = number_on(r, 100 + r);
      onto[at] = number_on(r, 0);
    }
  }
  void SetUp() override { begin(); }
  void TearDown() override { fake_gpu::begin({}); }

  ncclResult_t send(const Comms& comms, int rank, int to, int stream = 0) {
    const auto at = static_cast<std::size_t>(rank);
    return ncclSend(from[at], 1, ncclInt, to, comms[at],
                    streams[at][static_cast<std::size_t>(stream)]);
  }
  ncclResult_t receive(const Comms& comms, int rank, int sender, int stream = 0) {
    const auto at = static_cast<std::size_t>(rank);
    return ncclRecv(onto[at], 1, ncclInt, sender, comms[at],
                    streams[at][static_cast<std::size_t>(stream)]);
  }
  // Two ranks use two communicators in opposite order; each operation has its own stream.
  bool ends_crosswise(const Comms& first, const Comms& second) {
    EXPECT_EQ(send(first, 0, 1, 0), ncclSuccess);
    EXPECT_EQ(receive(second, 0, 1, 1), ncclSuccess);
    EXPECT_EQ(send(second, 1, 0, 0), ncclSuccess);
    EXPECT_EQ(receive(first, 1, 0, 1), ncclSuccess);
    fake_gpu::step(fake_gpu::kEverything);
    return fake_gpu::is_idle();
  }

  std::array<std::array<cudaStream_t, 2>, 3> streams{};
  std::array<int*, 3> from{};
  std::array<int*, 3> onto{};
};

TEST_F(FakeNcclTest, a_send_and_its_receive_wait_for_each_other) {
  const Comms comms = communicator(2);
  ASSERT_EQ(send(comms, 0, 1), ncclSuccess);
  const cudaEvent_t sent = event_on(0);
  cudaEventRecord(sent, streams[0][0]);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_FALSE(is_reached(sent));
  EXPECT_TRUE(says(fake_gpu::waits(), "waits for its receive to be on its device"));
  ASSERT_EQ(receive(comms, 1, 0), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(is_reached(sent));
  EXPECT_EQ(*onto[1], 100);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(fake_gpu::communicators(), 0);
  EXPECT_EQ(lines(fake_gpu::misuses()), "");
}

TEST_F(FakeNcclTest, what_fits_in_buffers_leaves_before_it_is_taken) {
  begin({.credits = 1});
  const Comms comms = communicator(2);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(send(comms, 0, 1), ncclSuccess);
  const cudaEvent_t sent = event_on(0);
  cudaEventRecord(sent, streams[0][0]);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_FALSE(is_reached(sent)) << "the second does not";
  ASSERT_EQ(receive(comms, 1, 0), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(is_reached(sent));
}

TEST_F(FakeNcclTest, a_communicator_has_one_kernel_at_a_time) {
  const Comms comms = communicator(2);
  EXPECT_FALSE(ends_crosswise(comms, comms));
  EXPECT_TRUE(says(fake_gpu::waits(), "launched before it with the same resources"));
}

TEST_F(FakeNcclTest, two_communicators_do_not_wait_for_each_other) {
  EXPECT_TRUE(ends_crosswise(communicator(2), communicator(2)));
}

TEST_F(FakeNcclTest, two_splits_are_as_one_communicator_if_they_share) {
  for (const bool shares : {false, true}) {
    begin();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.splitShare = shares ? 1 : 0;
    const Comms world = communicator(2, config);
    EXPECT_EQ(ends_crosswise(split(world), split(world)), !shares);
  }
}

TEST_F(FakeNcclTest, kernels_that_do_not_fit_wait_for_room) {
  begin({.blocks = 3});
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.maxCTAs = 2;
  EXPECT_FALSE(ends_crosswise(communicator(2, config), communicator(2, config)));
  EXPECT_TRUE(says(fake_gpu::waits(), "waits for room on its device"));
}

// A receive is queued behind a second send, which waits for the first; the first needs a receive.
TEST_F(FakeNcclTest, what_cannot_start_holds_up_what_shares_its_queue) {
  for (const int connections : {1, 2}) {
    begin({.connections = connections});
    const Comms there = communicator(2);
    const Comms back = communicator(2);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(send(there, 0, 1, 0), ncclSuccess);
      ASSERT_EQ(send(back, 1, 0, 0), ncclSuccess);
    }
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(receive(back, 0, 1, 1), ncclSuccess);
      ASSERT_EQ(receive(there, 1, 0, 1), ncclSuccess);
    }
    fake_gpu::step(fake_gpu::kEverything);
    EXPECT_EQ(fake_gpu::is_idle(), connections == 2) << lines(fake_gpu::waits());
    EXPECT_EQ(says(fake_gpu::waits(), "in the hardware's queue"), connections == 1);
  }
}

TEST_F(FakeNcclTest, a_group_is_one_kernel_for_each_communicator) {
  const Comms comms = communicator(2);
  for (int r = 0; r < 2; ++r) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(send(comms, r, 1 - r, 0), ncclSuccess);
    ASSERT_EQ(receive(comms, r, 1 - r, 1), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  }
  const cudaEvent_t received = event_on(0);
  cudaEventRecord(received, streams[0][1]);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(fake_gpu::is_idle());
  EXPECT_TRUE(is_reached(received));
  EXPECT_EQ(*onto[0], 101);
  EXPECT_EQ(*onto[1], 100);
}

TEST_F(FakeNcclTest, the_streams_of_a_group_wait_for_each_other) {
  const Comms comms = communicator(2);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(send(comms, 0, 1, 0), ncclSuccess);
  ASSERT_EQ(receive(comms, 0, 1, 1), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  const cudaEvent_t after = event_on(0);
  cudaEventRecord(after, streams[0][1]);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_FALSE(is_reached(after)) << "the kernel is on the other stream";
}

// On one stream the kernels of a group run one after another, in an order that NCCL chooses. Each
// pair of ranks has the same order. But three ranks can still wait in a circle, although each group
// alone could begin with any of its kernels: this is prevented neither by grouping nor by the order
// of calls.
TEST_F(FakeNcclTest, the_kernels_of_a_group_are_launched_by_hash_and_not_as_called) {
  // The communicators are in the order of their creation, which determines their hashes.
  const Comms a = communicator(2);  // ranks 0 and 1
  const Comms b = communicator(2);
  const bool b_first = 2 * 0x9E3779B97F4A7C15U < 0x9E3779B97F4A7C15U;
  ASSERT_TRUE(b_first);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(send(a, 0, 1), ncclSuccess);
  ASSERT_EQ(send(b, 0, 1), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(receive(a, 1, 0), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_EQ(*onto[1], 0) << "a's send is behind b's";
  ASSERT_EQ(receive(b, 1, 0, 1), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(fake_gpu::is_idle());
}

TEST_F(FakeNcclTest, a_kernel_of_a_group_has_its_sums_before_its_messages) {
  const Comms comms = communicator(2);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(receive(comms, 1, 0), ncclSuccess);
  ASSERT_EQ(ncclAllReduce(from[1], from[1], 1, ncclInt, ncclSum, comms[1], streams[1][0]),
            ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(send(comms, 0, 1), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_FALSE(fake_gpu::is_idle()) << "rank 0 has no part in the sum until its send is over";
}

TEST_F(FakeNcclTest, a_sum_is_of_all_ranks) {
  const Comms comms = communicator(3);
  for (std::size_t r = 0; r < 3; ++r) {
    ASSERT_EQ(ncclAllReduce(from[r], onto[r], 1, ncclInt, ncclSum, comms[r], streams[r][0]),
              ncclSuccess);
    EXPECT_EQ(fake_gpu::is_idle(), false);
    fake_gpu::step(fake_gpu::kEverything);
  }
  EXPECT_TRUE(fake_gpu::is_idle());
  for (const int* sum : onto) EXPECT_EQ(*sum, 303);
  EXPECT_EQ(lines(fake_gpu::misuses()), "");
}

TEST_F(FakeNcclTest, without_blocking_an_event_can_come_before_its_kernel) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const Comms comms = communicator(2, config);
  EXPECT_EQ(send(comms, 0, 1), ncclInProgress);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(send(comms, 0, 1), ncclInvalidArgument);
  const cudaEvent_t early = event_on(0);
  cudaEventRecord(early, streams[0][0]);
  EXPECT_TRUE(says(fake_gpu::misuses(), "about to launch on its stream"));
  EXPECT_TRUE(says(fake_gpu::misuses(), "before the last one on it was over"));
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(is_reached(early)) << "nobody has received it";
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_FALSE(fake_gpu::is_idle());
}

TEST_F(FakeNcclTest, an_abort_ends_the_kernels_of_its_rank_alone) {
  const Comms comms = communicator(2);
  const Comms others = communicator(2);
  ASSERT_EQ(receive(comms, 0, 1), ncclSuccess);
  ASSERT_EQ(receive(others, 1, 0), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  ASSERT_EQ(ncclCommAbort(comms[0]), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(fake_gpu::is_idle(0));
  EXPECT_FALSE(fake_gpu::is_idle(1));
  EXPECT_EQ(send(comms, 0, 1), ncclInvalidArgument);
  EXPECT_TRUE(says(fake_gpu::misuses(), "communicator that is not there"));
}

TEST_F(FakeNcclTest, a_call_that_waits_for_its_device_beside_a_kernel_is_reported) {
  const Comms comms = communicator(2);
  ASSERT_EQ(receive(comms, 0, 1), ncclSuccess);
  int* const other = number_on(0, 0);
  EXPECT_NE(cudaFree(other), cudaSuccess) << "nobody is left who could send";
  EXPECT_TRUE(says(fake_gpu::misuses(), "cudaFree waits for device 0 while it has receive 0"));
}

TEST_F(FakeNcclTest, ends_that_do_not_fit_are_reported) {
  const Comms comms = communicator(2);
  ASSERT_EQ(ncclSend(from[0], 2, ncclInt8, 1, comms[0], streams[0][0]), ncclSuccess);
  ASSERT_EQ(receive(comms, 1, 0), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(says(fake_gpu::misuses(), "is of 4 bytes, and its send of 2"));
  for (std::size_t r = 0; r < 2; ++r) {
    ASSERT_EQ(
        ncclAllReduce(from[r], onto[r], r == 0 ? 1 : 0, ncclInt, ncclSum, comms[r], streams[r][0]),
        ncclSuccess);
  }
  EXPECT_TRUE(says(fake_gpu::misuses(), "is of another size, type or operation at another rank"));
  int on_the_stack = 0;
  ASSERT_EQ(ncclSend(&on_the_stack, 1, ncclInt, 1, comms[0], streams[0][0]), ncclSuccess);
  ASSERT_EQ(receive(comms, 1, 0), ncclSuccess);
  fake_gpu::step(fake_gpu::kEverything);
  EXPECT_TRUE(says(fake_gpu::misuses(), "neither the device's nor pinned"));
}

// Ranks are threads whose calls wait for each other.
class FakeNcclHostsTest : public testing::Test {
 protected:
  void TearDown() override { fake_gpu::begin({}); }

  template <class Act>
  static void as_ranks(int ranks, const Act& act) {
    std::vector<std::thread> threads;
    std::atomic<int> there = 0;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([r, ranks, &act, &there] {
        const fake_gpu::Host host;
        ++there;
        while (there < ranks) std::this_thread::yield();
        act(r);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static ncclComm_t join(const ncclUniqueId& id, int ranks, int rank) {
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, ranks, id, rank, nullptr), ncclSuccess);
    return comm;
  }
};

// Two ranks have a communicator for each direction; the communicators have not been connected.
TEST_F(FakeNcclHostsTest, both_ends_must_be_in_the_call_that_connects_them) {
  for (const bool grouped : {false, true}) {
    fake_gpu::begin({.devices = 2});
    ncclUniqueId ids[2];
    for (ncclUniqueId& id : ids) ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    std::array<bool, 2> well{};
    as_ranks(2, [&](int rank) {
      const cudaStream_t stream = stream_on(rank);
      int* const mine = number_on(rank, 10 + rank);
      int* const theirs = number_on(rank, 0);
      const ncclComm_t there = join(ids[0], 2, rank);
      const ncclComm_t back = join(ids[1], 2, 1 - rank);
      if (grouped) ncclGroupStart();
      const ncclResult_t sent = ncclSend(mine, 1, ncclInt, 1, rank == 0 ? there : back, stream);
      const ncclResult_t received =
          ncclRecv(theirs, 1, ncclInt, 0, rank == 0 ? back : there, stream);
      const ncclResult_t ended = grouped ? ncclGroupEnd() : ncclSuccess;
      well[static_cast<std::size_t>(rank)] =
          sent == ncclSuccess && received == ncclSuccess && ended == ncclSuccess &&
          cudaStreamSynchronize(stream) == cudaSuccess && *theirs == 11 - rank;
    });
    EXPECT_EQ(well[0] && well[1], grouped) << lines(fake_gpu::misuses());
    EXPECT_EQ(says(fake_gpu::misuses(), "connects with rank"), !grouped);
  }
}

// A receive without a send blocks the work behind it, which fills the queue. So the host that would
// send waits in the call that launches.
TEST_F(FakeNcclHostsTest, a_launch_into_a_full_queue_waits) {
  for (const std::size_t launches : {4U, 64U}) {
    fake_gpu::begin({.devices = 2, .launches = launches, .connected = true});
    ncclUniqueId id{};
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    std::array<bool, 2> well{};
    as_ranks(2, [&](int rank) {
      const cudaStream_t stream = stream_on(rank);
      const cudaStream_t other = stream_on(rank);
      int* const number = number_on(rank, 0);
      const ncclComm_t comm = join(id, 2, rank);
      bool& is_well = well[static_cast<std::size_t>(rank)];
      is_well = ncclRecv(number, 1, ncclInt, 1 - rank, comm, stream) == ncclSuccess;
      for (int i = 0; i < 8 && is_well; ++i) {
        is_well = cudaLaunchHostFunc(
                      stream, [](void*) {}, nullptr) == cudaSuccess;
      }
      is_well = is_well && ncclSend(number, 1, ncclInt, 1 - rank, comm, other) == ncclSuccess;
    });
    // On one communicator the send would run after the receive; a call waits for the receive only
    // if the queue is full.
    EXPECT_EQ(well[0] && well[1], launches > 8) << lines(fake_gpu::misuses());
    EXPECT_EQ(says(fake_gpu::misuses(), "a launch into a full queue"), launches < 8);
  }
}

TEST_F(FakeNcclHostsTest, two_threads_in_one_communicator_are_reported) {
  fake_gpu::begin({.devices = 2});
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::array<ncclComm_t, 2> comms{};
  std::atomic<bool> refused = false;
  as_ranks(3, [&](int rank) {
    if (rank < 2) comms[static_cast<std::size_t>(rank)] = join(id, 2, rank);
    static std::atomic<int> joined = 0;
    if (rank < 2) ++joined;
    while (joined < 2) std::this_thread::yield();
    const cudaStream_t stream = stream_on(rank % 2);
    int* const number = number_on(rank % 2, 0);
    // Two threads send for rank 0. One of them enters the call and waits for rank 1, which receives
    // only when the other thread has been refused.
    while (rank == 1 && !refused) std::this_thread::yield();
    const ncclResult_t result = rank == 1 ? ncclRecv(number, 1, ncclInt, 0, comms[1], stream)
                                          : ncclSend(number, 1, ncclInt, 1, comms[0], stream);
    if (result == ncclInvalidUsage) refused = true;
  });
  EXPECT_TRUE(refused);
  EXPECT_TRUE(says(fake_gpu::misuses(), "two threads are in one communicator at once"));
}

TEST_F(FakeNcclHostsTest, ranks_wait_for_all_to_join_and_to_split) {
  fake_gpu::begin({.devices = 3});
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::array<int, 3> sums{};
  as_ranks(3, [&](int rank) {
    const cudaStream_t stream = stream_on(rank);
    int* const number = number_on(rank, 1 << rank);
    const ncclComm_t comm = join(id, 3, rank);
    ncclComm_t part = nullptr;
    const int color = rank == 1 ? NCCL_SPLIT_NOCOLOR : 0;
    EXPECT_EQ(ncclCommSplit(comm, color, -rank, &part, nullptr), ncclSuccess);
    EXPECT_EQ(part == nullptr, rank == 1);
    if (part == nullptr) return;
    EXPECT_EQ(ncclAllReduce(number, number, 1, ncclInt, ncclSum, part, stream), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    sums[static_cast<std::size_t>(rank)] = *number;
  });
  EXPECT_EQ(sums, (std::array<int, 3>{5, 0, 5}));
  EXPECT_EQ(lines(fake_gpu::misuses()), "");
}

// Whichever call fails, no call hangs, and all later calls return the device's error.
TEST_F(FakeNcclHostsTest, a_device_that_fails_at_any_call_fails_all_that_follow) {
  for (int at = 0; at < 30; ++at) {
    fake_gpu::begin({.devices = 2, .fails_at = at});
    ncclUniqueId id{};
    static_cast<void>(ncclGetUniqueId(&id));
    std::array<bool, 2> well{};
    as_ranks(2, [&](int rank) {
      cudaSetDevice(rank);
      cudaStream_t stream = nullptr;
      void* number = nullptr;
      ncclComm_t comm = nullptr;
      well[static_cast<std::size_t>(rank)] =
          cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) == cudaSuccess &&
          cudaMalloc(&number, 4) == cudaSuccess &&
          ncclCommInitRankConfig(&comm, 2, id, rank, nullptr) == ncclSuccess &&
          (rank == 0 ? ncclSend(number, 1, ncclInt, 1, comm, stream)
                     : ncclRecv(number, 1, ncclInt, 0, comm, stream)) == ncclSuccess &&
          cudaStreamSynchronize(stream) == cudaSuccess;
    });
    if (fake_gpu::calls() > at) {
      EXPECT_FALSE(well[0] && well[1]) << at;
    }
    EXPECT_EQ(lines(fake_gpu::misuses()).find("waits for what will never be"), std::string::npos)
        << at;
  }
}

// The sum or maximum of two numbers, each given by its bits.
struct Sum {
  ncclDataType_t type;
  ncclRedOp_t operation;
  std::uint64_t a, b, wanted;
};

TEST(FakeNcclSums, are_of_the_type_of_the_numbers) {
  const std::uint64_t minus_one = ~std::uint64_t{0};
  const std::vector<Sum> sums = {
      {ncclFloat16, ncclSum, 0x3E00, 0x4080, 0x4380},   // 1.5 + 2.25
      {ncclFloat16, ncclSum, 0x7BFF, 0x7BFF, 0x7C00},   // above the largest finite number
      {ncclFloat16, ncclSum, 0x0001, 0x0001, 0x0002},   // the smallest number
      {ncclFloat16, ncclSum, 0x3C00, 0x1000, 0x3C00},   // a tie, rounded to even
      {ncclFloat16, ncclSum, 0x3C00, 0x1200, 0x3C01},   // just above a tie
      {ncclFloat16, ncclMax, 0xBC00, 0x3800, 0x3800},   // -1, 0.5
      {ncclBfloat16, ncclSum, 0x3F80, 0x4000, 0x4040},  // 1 + 2
      {ncclBfloat16, ncclSum, 0x3F80, 0x3B80, 0x3F80},  // a tie, rounded to even
      {ncclBfloat16, ncclSum, 0x3F80, 0x3BC0, 0x3F81},  // just above a tie
      {ncclBfloat16, ncclMax, 0xBF80, 0xC000, 0xBF80},  // -1, -2
      {ncclInt32, ncclSum, 0x7FFFFFF0, 0xF, 0x7FFFFFFF},
      {ncclInt64, ncclSum, 1ULL << 40, 5, (1ULL << 40) + 5},
      {ncclInt64, ncclMax, minus_one, 3, 3},
  };
  for (const Sum& sum : sums) {
    std::vector<std::byte> result(fake_gpu::size_of(sum.type));
    fake_gpu::reduce(sum.type, sum.operation, {&sum.a, &sum.b}, result);
    std::uint64_t bits = 0;
    std::memcpy(&bits, result.data(), result.size());
    EXPECT_EQ(bits, sum.wanted) << std::hex << sum.a << " and " << sum.b << " give " << bits;
    EXPECT_TRUE(fake_gpu::can_reduce(sum.type, sum.operation));
  }
  EXPECT_FALSE(fake_gpu::can_reduce(ncclFloat, ncclProd));
  EXPECT_FALSE(fake_gpu::can_reduce(ncclInt8, ncclSum));
}

}  // namespace
}  // namespace ripeline::testing_support
