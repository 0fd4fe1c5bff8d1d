#include "runtime/network/frame.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace ripeline::runtime::network {
namespace {

using core::StatusCode;

constexpr std::int64_t kStep = std::numeric_limits<std::int64_t>::max();
constexpr core::Message kMessage{-1, std::numeric_limits<std::int32_t>::min()};
constexpr core::Time kSent{-5};
constexpr std::int32_t kOrdinal = 0x01020304;

Frame full_frame() {
  Frame frame{.token = 0xfedcba9876543210U,
              .program_hash = 0x0123456789abcdefU,
              .content = Envelope{signals::Data{{kStep, kMessage}, kOrdinal}, kSent}};
  frame.payload.head.resize(777);
  frame.payload.parts.resize(3);
  return frame;
}

// One frame content of each kind, in the order of the kinds' numbers.
std::vector<FrameContent> each_content() {
  const signals::OfMessage of{.step = kStep, .message = kMessage};
  const Beat beat{.sent = kSent, .echo = core::Time(7)};
  return {Hello{.rank = -3, .ranks = 4, .role = kOrdinal},
          Envelope{signals::Data{of, kOrdinal}, kSent},
          Envelope{signals::Gather{kStep}, kSent},
          Goodbye{},
          Abandon{StatusCode::breach},
          Envelope{signals::Announce{of, kOrdinal}, kSent},
          Envelope{signals::Grant{of}, kSent},
          Envelope{signals::Notice{of}, kSent},
          Heartbeat{beat},
          Envelope{signals::Report{}, kSent},
          Envelope{signals::Begun{.step = kStep, .microbatches = kOrdinal}, kSent},
          Envelope{signals::Ballot{kStep}, kSent},
          Ready{beat},
          Envelope{signals::Carrier{{of, kOrdinal}}, kSent}};
}

void expect_back(const Frame& frame) {
  Frame back;
  PayloadShape shape;
  const core::Status status = decode_header(encode_header(frame), back, shape);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(back.token, frame.token);
  EXPECT_EQ(back.program_hash, frame.program_hash);
  EXPECT_EQ(back.content, frame.content);
  EXPECT_EQ(shape.head, 777U);
  EXPECT_EQ(shape.parts, 3U);
}

TEST(Frame, comes_back_as_it_was) {
  Frame frame = full_frame();
  int number = 0;
  for (const FrameContent& content : each_content()) {
    frame.content = content;
    EXPECT_EQ(static_cast<int>(kind_of(content)), ++number);
    expect_back(frame);
  }
  EXPECT_EQ(number, static_cast<int>(FrameKind::carrier));
}

// A frame of a connecting transport has the kind of a data message, and an edge that cannot exist.
TEST(Frame, of_transports_that_connect_comes_back_as_it_was) {
  Frame frame = full_frame();
  for (const StatusCode code : {StatusCode::ok, StatusCode::timeout}) {
    frame.content = Envelope{signals::Connect{.kind = 2, .code = code}, kSent};
    EXPECT_EQ(kind_of(frame.content), FrameKind::data);
    expect_back(frame);
  }
}

TEST(Frame, of_data_and_gathers_goes_over_another_connection_than_the_others) {
  for (const FrameContent& content : each_content()) {
    const FrameKind kind = kind_of(content);
    const bool is_long = kind == FrameKind::data || kind == FrameKind::gather;
    EXPECT_EQ(role_of(kind), is_long ? ConnectionRole::data : ConnectionRole::control);
  }
}

TEST(Frame, has_the_edge_of_its_message) {
  const signals::OfMessage of{.step = 0, .message = {5, 0}};
  EXPECT_EQ(edge_of(Envelope{signals::Data{of}}), 5);
  EXPECT_EQ(edge_of(Envelope{signals::Gather{5}}), -1);
  EXPECT_EQ(edge_of(Hello{.rank = 5}), -1);
}

TEST(Frame, has_the_sizes_of_its_parts) {
  Payload payload;
  const std::vector<std::uint64_t> sizes = {0, 1, 64 << 10, 0x0102030405060708};
  for (const std::uint64_t size : sizes) payload.parts.push_back({.size = size});
  const std::vector<std::byte> bytes = encode_sizes(payload);
  EXPECT_EQ(bytes.size(), 32U);
  EXPECT_EQ(std::to_integer<int>(bytes[24]), 8) << "little-endian";
  EXPECT_EQ(std::to_integer<int>(bytes[31]), 1);
  EXPECT_EQ(decode_sizes(bytes), sizes);
  EXPECT_TRUE(encode_sizes({}).empty());
}

TEST(Frame, is_little_endian_in_its_fixed_layout) {
  const Header header = encode_header(full_frame());
  const auto byte = [&](std::size_t i) { return std::to_integer<int>(header[i]); };
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(header.data()), 4), "RIPL");
  EXPECT_EQ(byte(4), kFrameVersion);
  EXPECT_EQ(byte(6), 2) << "kind";
  EXPECT_EQ(byte(8), 0x10) << "token";
  EXPECT_EQ(byte(15), 0xfe);
  EXPECT_EQ(byte(16), 0xef) << "program hash";
  EXPECT_EQ(byte(24), 0xff) << "step";
  EXPECT_EQ(byte(31), 0x7f);
  EXPECT_EQ(byte(32), 0xff) << "edge";
  EXPECT_EQ(byte(39), 0x80) << "microbatch";
  EXPECT_EQ(byte(40), 0xfb) << "sent";
  EXPECT_EQ(byte(48), 4) << "ordinal";
  EXPECT_EQ(byte(51), 1);
  EXPECT_EQ(byte(52), 777 % 256) << "bytes of the head";
  EXPECT_EQ(byte(53), 777 / 256);
  EXPECT_EQ(byte(54), 3) << "parts";
  EXPECT_EQ(byte(55), 0);
  EXPECT_EQ(header.size(), 56U);
}

// The first eight bytes are magic, version and kind; a change of any of these is refused.
TEST(Frame, of_another_format_is_refused) {
  const Header good = encode_header(full_frame());
  for (std::size_t at = 0; at < 8; ++at) {
    for (int value = 0; value < 256; ++value) {
      Header header = good;
      header[at] = static_cast<std::byte>(value);
      Frame back;
      PayloadShape shape;
      const bool is_kind = at == 6 && value >= 1 && value <= 14;
      const core::Status status = decode_header(header, back, shape);
      EXPECT_EQ(status.ok(), header == good || is_kind) << "byte " << at << " is " << value;
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), at == 4 || at == 5 ? StatusCode::refused : StatusCode::invalid);
    }
  }
}

TEST(Frame, names_what_it_found) {
  Frame back;
  PayloadShape shape;
  Header header = encode_header(full_frame());
  header[6] = std::byte{15};
  EXPECT_EQ(decode_header(header, back, shape).message(), "frame kind 15, which there is not");
  header[4] = std::byte{1};
  EXPECT_EQ(decode_header(header, back, shape).message(), "frame version 1, expected 8");
  EXPECT_EQ(decode_header({}, back, shape).message(), "a frame that is not Ripeline's");
}

// The sizes are checked before memory is allocated for them.
TEST(Frame, of_too_large_a_head_or_too_many_parts_is_refused) {
  Frame back;
  PayloadShape shape;
  Frame frame;
  frame.payload.head.resize(kLargestHead);
  frame.payload.parts.resize(kMostParts);
  EXPECT_TRUE(decode_header(encode_header(frame), back, shape).ok());
  frame.payload.head.resize(kLargestHead + 1);
  const std::string kWanted =
      "a frame whose payload has a head of 4097 bytes and 64 parts; at most 4096 and 64 are "
      "allowed";
  EXPECT_EQ(decode_header(encode_header(frame), back, shape).message(), kWanted);
  frame.payload.head.clear();
  frame.payload.parts.resize(kMostParts + 1);
  EXPECT_EQ(decode_header(encode_header(frame), back, shape).code(), StatusCode::invalid);
}

TEST(Frame, of_a_rank_that_does_not_join_says_why) {
  const core::Status refused{StatusCode::refused, "another program"};
  EXPECT_EQ(abandon_status(3, refused.code(), abandon_text(refused)).message(), "another program");
  const core::Status failed{StatusCode::failed, std::string(10'000, 'x')};
  const core::Status told = abandon_status(3, failed.code(), abandon_text(failed));
  EXPECT_EQ(told.code(), StatusCode::lost);
  EXPECT_EQ(told.message(), "rank 3 stopped: " + std::string(kLargestHead, 'x'));
}

}  // namespace
}  // namespace ripeline::runtime::network
