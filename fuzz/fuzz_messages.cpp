// Feeds any bytes to a reader of peers' messages, which the first byte selects. A finding is a
// crash, a sanitizer's report, a hang, or an accepted message that differs when written again.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/network/buffer_pool.h"
#include "runtime/protocol/ballot_codec.h"
#include "runtime/protocol/carrier_messages.h"
#include "runtime/protocol/gather.h"
#include "runtime/protocol/notice_codec.h"
#include "runtime/protocol/report.h"

#include "runtime/network/connection.h"
#include "runtime/value_head.h"

namespace {

using namespace ripeline;
using namespace ripeline::runtime;

constexpr std::size_t kMostBytes = 16384;
constexpr std::uint64_t kToken = 0x6e656b6f74;  // the run's token, which every frame must have
constexpr std::uint64_t kLargest = 1 << 20;

void require(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", law);
  std::abort();
}

Blob blob(const std::uint8_t* data, std::size_t size) {
  const auto* at = reinterpret_cast<const std::byte*>(data);
  return {at, at + size};
}

// Reads a stream of frames from a socket.
void read_frames(const std::uint8_t* data, std::size_t size) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) std::abort();
  asio::io_context io;
  network::HostBufferPool pool;
  std::vector<network::Frame> frames;
  int closed = 0;
  {
    const auto connection =
        std::make_shared<network::Connection>(io, ends[0], kToken, kLargest, pool);
    connection->start(
        {.on_frame = [&](network::Frame&& frame) { frames.push_back(std::move(frame)); },
         .on_closed = [&](const core::Status&) { ++closed; }});
    if (write(ends[1], data, size) != static_cast<ssize_t>(size)) std::abort();
    io.poll();
    close(ends[1]);
    io.poll();
    require(closed == 1, "a connection is closed once");
    connection->close();
    io.poll();
  }
  std::size_t bytes = 0;
  for (const network::Frame& frame : frames) {
    require(frame.token == kToken, "a frame has the run's token");
    require(frame.payload.size() <= kLargest + kLargestHead, "a frame is within its bounds");
    network::Frame again;
    network::PayloadShape shape;
    require(network::decode_header(network::encode_header(frame), again, shape).ok(),
            "a header is one");
    bytes += network::kHeaderBytes + shape.parts * sizeof(std::uint64_t) + frame.payload.size();
  }
  require(bytes <= size, "no frame is made of what did not come");
}

void read_gathers(const std::uint8_t* data, std::size_t size) {
  protocol::Gathers gathers(0, {.ranks = 3});
  require(gathers.begin("norms", {}).ok(), "a gather begins");
  std::int64_t number = 0;
  // The bytes are parts. Each part begins with one byte, which is its length.
  for (std::size_t at = 0; at < size;) {
    const std::size_t part = std::min<std::size_t>(data[at], size - at - 1);
    const int from = 1 + data[at] % 2;
    const bool was_done = gathers.is_done();
    const bool taken = gathers.take(from, number, payload_of(blob(data + at + 1, part))).ok();
    require(!(was_done && taken && number == 0), "nothing is added to what is done");
    number = data[at] % 5 == 0 ? 1 : 0;
    at += 1 + part;
  }
  std::vector<protocol::Outgoing> sends;
  gathers.take_outgoing(sends);
  require(gathers.is_done() == !sends.empty(), "process 0 sends when it has all");
}

void read_report(const std::uint8_t* data, std::size_t size) {
  protocol::ProcessReport report;
  const core::Time now = std::chrono::hours(1);
  if (!protocol::decode_report(payload_of(blob(data, size)), now, report).ok()) return;
  protocol::ProcessReport again;
  require(protocol::decode_report(protocol::encode_report(report, now), now, again).ok(),
          "a report can be read");
  require(again.waits.waits == report.waits.waits, "its waits come back");
}

void read_notice(const std::uint8_t* data, std::size_t size) {
  const Payload payload = payload_of(blob(data, size));
  core::Notice notice;
  if (!protocol::decode_notice({}, payload, notice).ok()) return;
  require(protocol::encode_notice(notice).head == payload.head, "a notice comes back");
}

// Reads a ballot of a program that has one rank with two lanes.
void read_ballot(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array kOps = {core::OpFacts{"F", core::OpKind::forward}};
  static constexpr std::array kLanes = {core::LaneFacts{0, 0, 0, 0, core::Engine::compute},
                                        core::LaneFacts{0, 1, 0, 1, core::Engine::compute}};
  static const core::ProgramFacts kFacts{
      core::kCoreVersion, "two", 0, true, 1, 2, 1, 0, kOps, kLanes, {}, {}, {}};
  core::Ballot ballot;
  int microbatches = 0;
  if (!protocol::decode_ballot(kFacts, 0, payload_of(blob(data, size)), microbatches, ballot).ok())
    return;
  core::Ballot again;
  int same = 0;
  require(protocol::decode_ballot(
              kFacts, 0, protocol::encode_ballot(kFacts, 0, microbatches, ballot), same, again)
              .ok(),
          "a ballot can be read");
  require(same == microbatches, "so does the number of microbatches");
  require(again == ballot, "a ballot comes back");
}

void read_value(const std::uint8_t* data, std::size_t size) {
  // The bytes are a head and parts. Each of these begins with one byte, which is its length.
  const std::size_t head = std::min<std::size_t>(data[0], size - 1);
  Payload payload{.head = blob(data + 1, head), .parts = {}};
  std::vector<Blob> parts;
  for (std::size_t at = 1 + head; at < size;) {
    const std::size_t part = std::min<std::size_t>(data[at], size - at - 1);
    parts.push_back(blob(data + at + 1, part));
    payload.parts.push_back({.data = parts.back().data(), .size = part});
    at += 1 + part;
  }
  ValueHead value;
  if (!decode_head(payload, value).ok()) return;
  require(encode_head(value) == payload.head, "a value's head comes back");
}

void read_carrier_message(const std::uint8_t* data, std::size_t size) {
  protocol::CarrierMessage message;
  if (!protocol::decode_message(payload_of(blob(data, size)), message).ok()) return;
  protocol::CarrierMessage again;
  require(protocol::decode_message(protocol::encode_message(message), again).ok(),
          "a carrier's message can be read");
  require(again == message, "a carrier's message comes back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > kMostBytes) return -1;
  switch (data[0] % 7) {
    case 0:
      read_frames(data + 1, size - 1);
      break;
    case 1:
      read_gathers(data + 1, size - 1);
      break;
    case 2:
      read_report(data + 1, size - 1);
      break;
    case 3:
      read_notice(data + 1, size - 1);
      break;
    case 4:
      read_value(data + 1, size - 1);
      break;
    case 5:
      read_ballot(data + 1, size - 1);
      break;
    default:
      read_carrier_message(data + 1, size - 1);
  }
  return 0;
}
