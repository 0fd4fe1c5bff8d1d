// NCCL itself, as the plug-in gives it: that it loads is seen everywhere, what it does where there
// is a GPU.
#include <gtest/gtest.h>

#include "runtime/cuda/device.h"
#include "runtime/cuda/load_nccl.h"
#include "runtime/cuda/staged_carrier.h"

namespace ripeline::runtime {
namespace {

TEST(Nccl, is_loaded_where_there_is_no_device) {
  const NcclLibrary* nccl = nullptr;
  const core::Status status = load_nccl(nccl);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GE(nccl->version(), 22800);
}

TEST(NcclTest, sums_over_a_communicator_of_one) {
  const core::Status status = use_device(0);
  if (status.code() == core::StatusCode::refused) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  const NcclLibrary* nccl = nullptr;
  ASSERT_TRUE(load_nccl(nccl).ok());
  Stream stream;
  ASSERT_TRUE(Stream::make(Stream::Priority::highest, stream).ok());
  NcclId id{};
  ASSERT_TRUE(nccl->make_id(id).ok());
  std::unique_ptr<NcclComm> comm;
  const core::Status connected = nccl->connect(id, {.rank = 0, .size = 1, .most_blocks = 2}, comm);
  ASSERT_TRUE(connected.ok()) << connected.message();

  HostPlace pinned = make_pinned_place();  // which the device reaches
  const Bytes from = pinned.take(-1, sizeof(double));
  const Bytes onto = pinned.take(-1, sizeof(double));
  *reinterpret_cast<double*>(from.data) = 2.5;
  *reinterpret_cast<double*>(onto.data) = 0;
  const core::Status reduced =
      comm->reduce(from.data, onto.data, 1, NcclType::float64, NcclSum::sum, stream.get());
  ASSERT_TRUE(reduced.ok()) << reduced.message();
  ASSERT_TRUE(stream.sync().ok());
  EXPECT_EQ(*reinterpret_cast<double*>(onto.data), 2.5);
  EXPECT_TRUE(comm->health().ok());
  EXPECT_TRUE(comm->finish().ok());
  EXPECT_FALSE(comm->health().ok());
}

}  // namespace
}  // namespace ripeline::runtime
