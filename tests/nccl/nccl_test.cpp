// Tests NCCL itself through the plug-in: that it loads, on every machine; and its operations, on
// machines with a GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/cuda/carriers/staged_carrier.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl/load_nccl.h"
#include "runtime/cuda/nccl/nccl_group.h"

namespace ripeline::runtime::cuda {
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

  network::HostBufferPool pinned = make_pinned_pool();  // memory that the device can access
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

TEST(NcclTest, a_group_of_one_adds_up_enqueued_or_not_until_it_is_closed) {
  const core::Status status = use_device(0);
  if (status.code() == core::StatusCode::refused) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  const NcclLibrary* nccl = nullptr;
  ASSERT_TRUE(load_nccl(nccl).ok());
  NcclId id{};
  ASSERT_TRUE(nccl->make_id(id).ok());
  std::unique_ptr<NcclComm> comm;
  const core::Status connected = nccl->connect(id, {.rank = 0, .size = 1, .most_blocks = 2}, comm);
  ASSERT_TRUE(connected.ok()) << connected.message();
  NcclGroup group(std::move(comm));
  Stream stream;
  ASSERT_TRUE(Stream::make(Stream::Priority::usual, stream).ok());

  network::HostBufferPool pinned = make_pinned_pool();
  const Bytes bytes = pinned.take(-1, sizeof(std::int64_t));
  auto* const number = reinterpret_cast<std::int64_t*>(bytes.data);
  *number = 7;
  const NcclNumbers all{.data = number, .count = 1, .type = NcclType::int64};
  const core::Status enqueued = group.enqueue(all, NcclSum::sum, stream.get());
  EXPECT_TRUE(enqueued.ok()) << enqueued.message();
  const core::Status reduced = group.reduce(all, NcclSum::maximum, stream.get());
  EXPECT_TRUE(reduced.ok()) << reduced.message();
  EXPECT_EQ(*number, 7);
  group.close();
  EXPECT_EQ(group.enqueue(all, NcclSum::sum, stream.get()).code(), core::StatusCode::lost);
}

}  // namespace
}  // namespace ripeline::runtime::cuda
