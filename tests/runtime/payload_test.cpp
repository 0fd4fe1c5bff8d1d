#include "runtime/payload.h"

#include <gtest/gtest.h>

namespace ripeline::runtime {
namespace {

TEST(Payload, of_a_blob_is_a_head_if_it_fits_and_else_one_part) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kLargestHead, kLargestHead + 1, std::size_t{1} << 20}) {
    Blob blob(size);
    for (std::size_t i = 0; i < size; ++i) blob[i] = static_cast<std::byte>(i % 251);
    const Payload payload = payload_of(blob);
    EXPECT_EQ(payload.parts.size(), size > kLargestHead ? 1U : 0U) << size;
    EXPECT_EQ(payload.size(), size);
    EXPECT_EQ(payload.empty(), size == 0);
    EXPECT_TRUE(blob_of(payload) == blob);
  }
}

TEST(Payload, is_its_head_and_its_parts_one_after_another) {
  Blob first = {std::byte{2}, std::byte{3}};
  Blob second = {std::byte{4}};
  Payload payload{.head = {std::byte{1}}, .parts = {}};
  payload.parts.push_back({.data = first.data(), .size = first.size()});
  payload.parts.push_back({.data = nullptr, .size = 0});
  payload.parts.push_back({.data = second.data(), .size = second.size()});
  EXPECT_EQ(payload.size(), 4U);
  EXPECT_EQ(blob_of(payload), (Blob{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}));
}

TEST(Payload, shares_its_parts_with_its_copies) {
  Payload payload = payload_of(Blob(10'000, std::byte{7}));
  const Payload copy = payload;
  EXPECT_EQ(copy.parts[0].data, payload.parts[0].data);
  payload = {};
  EXPECT_TRUE(blob_of(copy) == Blob(10'000, std::byte{7})) << "the copy keeps them";
}

}  // namespace
}  // namespace ripeline::runtime
