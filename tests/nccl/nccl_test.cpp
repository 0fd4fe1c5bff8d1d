// What runs on any device, with one rank: on the fakes, and with NCCL itself where there is a GPU.
// It has each of the calls that are used, so that the program links with the library.
#include <gtest/gtest.h>
#include <nccl.h>

#include "runtime/cuda/device.h"
#include "runtime/cuda/staged_carrier.h"

namespace ripeline::runtime {
namespace {

class NcclTest : public testing::Test {
 protected:
  void SetUp() override {
    const core::Status status = use_device(0);
    if (status.code() == core::StatusCode::refused) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Stream::make(Stream::Priority::highest, stream_).ok());
    ncclUniqueId id{};
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    config.maxCTAs = 2;
    const ncclResult_t result = ncclCommInitRankConfig(&comm_, 1, id, 0, &config);
    ASSERT_EQ(result, ncclSuccess) << ncclGetErrorString(result) << ncclGetLastError(nullptr);
  }

  // Of doubles, in memory of the host that the device reaches.
  double* numbers(const Bytes& bytes) { return reinterpret_cast<double*>(bytes.data); }

  HostPlace pinned_ = make_pinned_place();
  Stream stream_;
  ncclComm_t comm_ = nullptr;
};

TEST_F(NcclTest, sends_to_itself_in_a_group) {
  const Bytes from = pinned_.take(-1, sizeof(double));
  const Bytes onto = pinned_.take(-1, sizeof(double));
  *numbers(from) = 7;
  *numbers(onto) = 0;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(from.data, 1, ncclDouble, 0, comm_, stream_.get()), ncclSuccess);
  ASSERT_EQ(ncclRecv(onto.data, 1, ncclDouble, 0, comm_, stream_.get()), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_TRUE(stream_.sync().ok());
  EXPECT_EQ(*numbers(onto), 7);
  ncclResult_t error = ncclInProgress;
  ASSERT_EQ(ncclCommGetAsyncError(comm_, &error), ncclSuccess);
  EXPECT_EQ(error, ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(comm_), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess);
}

TEST_F(NcclTest, sums_over_a_communicator_that_was_split) {
  ncclComm_t part = nullptr;
  ASSERT_EQ(ncclCommSplit(comm_, 0, 0, &part, nullptr), ncclSuccess);
  ASSERT_NE(part, nullptr);
  const Bytes from = pinned_.take(-1, sizeof(double));
  const Bytes onto = pinned_.take(-1, sizeof(double));
  *numbers(from) = 2.5;
  *numbers(onto) = 0;
  ASSERT_EQ(ncclAllReduce(from.data, onto.data, 1, ncclDouble, ncclSum, part, stream_.get()),
            ncclSuccess);
  ASSERT_TRUE(stream_.sync().ok());
  EXPECT_EQ(*numbers(onto), 2.5);
  EXPECT_EQ(ncclCommAbort(part), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess);
}

TEST(Nccl, is_of_the_version_of_its_header_or_later) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_GE(version, NCCL_VERSION_CODE);
}

}  // namespace
}  // namespace ripeline::runtime
