#include "runtime/protocol/carrier_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ripeline::runtime::protocol {
namespace {

using core::StatusCode;

MemoryHandle handle_of(int seed) {
  MemoryHandle handle;
  for (std::size_t i = 0; i < handle.size(); ++i) handle[i] = static_cast<std::byte>(seed + i);
  return handle;
}

std::vector<CarrierMessage> some_messages() {
  return {
      CarrierHello{.setting = "ipc",
                   .host = "a host",
                   .handle = handle_of(3),
                   .token = 0x0102030405060708,
                   .why = {}},
      CarrierHello{.setting = {}, .host = {}, .handle = {}, .token = 0, .why = "no device"},
      CarrierVerdict{.works = true, .why = {}},
      CarrierVerdict{.works = false, .why = "on another host"},
      CarrierRefusal{.code = static_cast<std::int32_t>(StatusCode::refused), .text = "no"},
      BuffersAsked{.seen = 7, .sizes = {1, std::uint64_t{1} << 40}, .closed = {0, 9}},
      BuffersAsked{},
      BuffersGiven{
          {{.id = 1, .bytes = 4096, .handle = handle_of(9)}, {.id = 2, .bytes = 1, .handle = {}}}},
      Landed{.parts = {{.buffer = 4, .size = 100}}, .head = Blob(kLargestHead, std::byte{5})},
      Landed{.parts = {{.buffer = 4, .size = 100}, {.buffer = 5, .size = 0}}, .head = {}},
      NcclHello{.device = "a device", .process = 0x0102030405060708},
      NcclHello{},
      NcclName{{std::byte{1}, std::byte{2}}},
      Launched{.number = std::uint64_t{1} << 40,
               .sizes = {0, std::uint64_t{1} << 36},
               .head = Blob(kLargestHead, std::byte{5})},
      Launched{.number = 0, .sizes = {7}, .head = {}},
      AllLaunched{.count = 9},
  };
}

TEST(CarrierMessages, come_back_as_they_were) {
  for (const CarrierMessage& message : some_messages()) {
    CarrierMessage back;
    const core::Status status = decode_message(encode_message(message), back);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(back, message);
  }
}

TEST(CarrierMessages, are_refused_if_anything_is_missing_or_too_much) {
  for (const CarrierMessage& message : some_messages()) {
    const Blob whole = blob_of(encode_message(message));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CarrierMessage back;
      EXPECT_FALSE(
          decode_message(payload_of({whole.begin(), whole.begin() + std::ptrdiff_t(size)}), back)
              .ok())
          << "kind " << message.index() << ", " << size << " bytes of " << whole.size();
    }
    Blob longer = whole;
    longer.push_back(std::byte{0});
    CarrierMessage back;
    EXPECT_EQ(decode_message(payload_of(longer), back).code(), StatusCode::invalid);
  }
}

TEST(CarrierMessages, are_refused_beyond_their_limits) {
  CarrierMessage back;
  const auto is_taken = [&back](const CarrierMessage& message) {
    return decode_message(encode_message(message), back).ok();
  };
  EXPECT_TRUE(is_taken(
      BuffersAsked{.seen = 0, .sizes = std::vector<std::uint64_t>(kMostBuffers), .closed = {}}));
  EXPECT_FALSE(is_taken(BuffersAsked{
      .seen = 0, .sizes = std::vector<std::uint64_t>(kMostBuffers + 1), .closed = {}}));
  EXPECT_FALSE(is_taken(BuffersGiven{std::vector<BuffersGiven::Buffer>(kMostBuffers + 1)}));
  EXPECT_TRUE(is_taken(Landed{.parts = std::vector<Landed::Part>(kMostParts), .head = {}}));
  EXPECT_FALSE(is_taken(Landed{.parts = std::vector<Landed::Part>(kMostParts + 1), .head = {}}));
  EXPECT_FALSE(is_taken(Landed{.parts = {}, .head = {}})) << "of no part";
  EXPECT_FALSE(is_taken(Landed{.parts = {{}}, .head = Blob(kLargestHead + 1)}));
  const std::vector<std::uint64_t> most(kMostParts);
  EXPECT_TRUE(is_taken(Launched{.number = 0, .sizes = most, .head = {}}));
  EXPECT_FALSE(is_taken(
      Launched{.number = 0, .sizes = std::vector<std::uint64_t>(kMostParts + 1), .head = {}}));
  EXPECT_FALSE(is_taken(Launched{.number = 0, .sizes = {}, .head = {}})) << "of no part";
  EXPECT_FALSE(is_taken(Launched{.number = 0, .sizes = {1}, .head = Blob(kLargestHead + 1)}));
  EXPECT_FALSE(is_taken(CarrierRefusal{.code = 0, .text = "all is well"}));
  EXPECT_FALSE(is_taken(CarrierRefusal{.code = 99, .text = "who knows"}));
  EXPECT_EQ(decode_message(payload_of({std::byte{10}}), back).message(),
            "a carrier's word of 1 bytes, kind 10, which there is not");
  EXPECT_TRUE(is_taken(CarrierVerdict{.works = false, .why = std::string(5000, 'x')}));
  EXPECT_EQ(std::get<CarrierVerdict>(back).why, std::string(1024, 'x')) << "texts are cut";
}

}  // namespace
}  // namespace ripeline::runtime::protocol
