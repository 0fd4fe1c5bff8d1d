#include "runtime/transport/frame.h"

#include <gtest/gtest.h>

#include <limits>

namespace ripeline::runtime {
namespace {

using core::StatusCode;

Frame full_frame() {
  Frame frame;
  frame.kind = FrameKind::gather;
  frame.token = 0xfedcba9876543210U;
  frame.program_hash = 0x0123456789abcdefU;
  frame.envelope.step = std::numeric_limits<std::int64_t>::max();
  frame.envelope.message = {-1, std::numeric_limits<std::int32_t>::min()};
  frame.envelope.sent = core::Time{-5};
  frame.envelope.ordinal = 0x01020304;
  frame.payload.resize(777);
  return frame;
}

TEST(Frame, comes_back_as_it_was) {
  for (const FrameKind kind :
       {FrameKind::hello, FrameKind::data, FrameKind::gather, FrameKind::goodbye,
        FrameKind::abandon, FrameKind::announce, FrameKind::grant, FrameKind::notice}) {
    Frame frame = full_frame();
    frame.kind = kind;
    Frame back;
    std::uint64_t payload_bytes = 0;
    const core::Status status = decode_header(encode_header(frame), back, payload_bytes);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(back.kind, kind);
    EXPECT_EQ(back.token, frame.token);
    EXPECT_EQ(back.program_hash, frame.program_hash);
    EXPECT_EQ(back.envelope.step, frame.envelope.step);
    EXPECT_EQ(back.envelope.message, frame.envelope.message);
    EXPECT_EQ(back.envelope.sent, frame.envelope.sent);
    EXPECT_EQ(back.envelope.ordinal, 0x01020304);
    EXPECT_EQ(back.envelope.signal, kind == FrameKind::announce ? Signal::announce
                                    : kind == FrameKind::grant  ? Signal::grant
                                    : kind == FrameKind::notice ? Signal::notice
                                                                : Signal::data);
    EXPECT_EQ(payload_bytes, 777U);
  }
}

TEST(Frame, is_little_endian_in_its_fixed_layout) {
  const Header header = encode_header(full_frame());
  const auto byte = [&](std::size_t i) { return std::to_integer<int>(header[i]); };
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(header.data()), 4), "RIPL");
  EXPECT_EQ(byte(4), kFrameVersion);
  EXPECT_EQ(byte(6), 3) << "kind";
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
  EXPECT_EQ(byte(52), 777 % 256) << "bytes of payload";
  EXPECT_EQ(byte(53), 777 / 256);
}

// Magic, version and kind are the first eight bytes; every change of one of them is refused.
TEST(Frame, of_another_format_is_refused) {
  const Header good = encode_header(full_frame());
  for (std::size_t at = 0; at < 8; ++at) {
    for (int value = 0; value < 256; ++value) {
      Header header = good;
      header[at] = static_cast<std::byte>(value);
      Frame back;
      std::uint64_t payload_bytes = 0;
      const bool is_kind = at == 6 && value >= 1 && value <= 8;
      const core::Status status = decode_header(header, back, payload_bytes);
      EXPECT_EQ(status.ok(), header == good || is_kind) << "byte " << at << " is " << value;
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), at == 4 || at == 5 ? StatusCode::refused : StatusCode::invalid);
    }
  }
}

TEST(Frame, names_what_it_found) {
  Frame back;
  std::uint64_t payload_bytes = 0;
  Header header = encode_header(full_frame());
  header[6] = std::byte{9};
  EXPECT_EQ(decode_header(header, back, payload_bytes).message(),
            "frame kind 9, which there is not");
  header[4] = std::byte{1};
  EXPECT_EQ(decode_header(header, back, payload_bytes).message(), "frame version 1, expected 3");
  EXPECT_EQ(decode_header({}, back, payload_bytes).message(), "a frame that is not Ripeline's");
}

}  // namespace
}  // namespace ripeline::runtime
