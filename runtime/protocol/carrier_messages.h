// The control messages that a carrier's two ends exchange (runtime/cuda/carriers/carrier.h), as
// payloads of messages with the signal `carrier`: little-endian (docs/formats.md). Plain values and
// pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime::protocol {

// The form in which CUDA exports memory to other processes.
using MemoryHandle = std::array<std::byte, 64>;

inline constexpr std::size_t kMostBuffers = 4096;  // the most in one message

// Sent at the start to each neighbour: what this end may use, and memory for a trial.
struct CarrierHello {
  std::string setting;                 // the carrier that this end must use; empty if any
  std::string host;                    // equal at both ends if they may reach each other's memory
  std::optional<MemoryHandle> handle;  // to memory that holds `token`; if nullopt, `why` says why
  std::uint64_t token = 0;
  std::string why;
  bool operator==(const CarrierHello&) const = default;
};

// The answer: whether this end could read the other end's memory.
struct CarrierVerdict {
  bool works = false;
  std::string why;  // why it does not work
  bool operator==(const CarrierVerdict&) const = default;
};

// Tells each neighbour that this end does not start. It holds the status that neighbours report.
struct CarrierRefusal {
  std::int32_t code = 0;
  std::string text;
  bool operator==(const CarrierRefusal&) const = default;
};

// Sent by the end that sends messages. That end has been given `seen` buffers so far, and lacks one
// for each part in `sizes`, in this order; it has closed the buffers in `closed`.
struct BuffersAsked {
  std::uint64_t seen = 0;
  std::vector<std::uint64_t> sizes;  // bytes
  std::vector<std::uint32_t> closed;
  bool operator==(const BuffersAsked&) const = default;
};

// Sent by the end that receives messages: the other end may write to each of these buffers once.
struct BuffersGiven {
  struct Buffer {
    std::uint32_t id = 0;
    std::uint64_t bytes = 0;
    std::optional<MemoryHandle> handle;  // only the first time
    bool operator==(const Buffer&) const = default;
  };
  std::vector<Buffer> buffers;
  bool operator==(const BuffersGiven&) const = default;
};

// Sent with the envelope of a message, whose parts have been written to these buffers.
struct Landed {
  struct Part {
    std::uint32_t buffer = 0;
    std::uint64_t size = 0;  // bytes
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  Blob head;
  bool operator==(const Landed&) const = default;
};

// Sent at the start to each neighbour that is reached by NCCL.
struct NcclHello {
  std::string device;         // equal at both ends if they share a device
  std::uint64_t process = 0;  // equal if they share a process
  bool operator==(const NcclHello&) const = default;
};

// Sent by the end that will send messages: NCCL's name for this direction's communicator.
struct NcclName {
  std::array<std::byte, 128> id{};
  bool operator==(const NcclName&) const = default;
};

// Sent with the envelope of a message: its send has been launched, so its receive may be, too.
struct Launched {
  std::uint64_t number = 0;          // among the messages of this direction, from 0
  std::vector<std::uint64_t> sizes;  // per part, in bytes
  Blob head;
  bool operator==(const Launched&) const = default;
};

// Sent at the end: the number of messages in this direction, after which none follow.
struct AllLaunched {
  std::uint64_t count = 0;
  bool operator==(const AllLaunched&) const = default;
};

using CarrierMessage =
    std::variant<CarrierHello, CarrierVerdict, CarrierRefusal, BuffersAsked, BuffersGiven, Landed,
                 NcclHello, NcclName, Launched, AllLaunched>;

[[nodiscard]] Payload encode_message(const CarrierMessage& message);
// Refuses a payload that encode_message() cannot have made.
core::Status decode_message(Payload payload, CarrierMessage& message);

}  // namespace ripeline::runtime::protocol
