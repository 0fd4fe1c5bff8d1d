// The words that the two ends of a carrier exchange (runtime/cuda/carriers/carrier.h), as payloads
// of messages with the signal `carrier`: little-endian (docs/formats.md). Plain values and pure
// functions.
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

namespace ripeline::runtime::process {

// As CUDA exports memory to other processes.
using MemoryHandle = std::array<std::byte, 64>;

inline constexpr std::size_t kMostPlaces = 4096;  // in one word

// At the start, to each neighbour: what this end may use, and memory to try it with.
struct CarrierHello {
  std::string setting;                 // the carrier that this end was told to use; empty: none
  std::string host;                    // equal at both ends: they may reach each other's memory
  std::optional<MemoryHandle> handle;  // to memory with `token`; nothing: `why` says why not
  std::uint64_t token = 0;
  std::string why;
  bool operator==(const CarrierHello&) const = default;
};

// The answer: whether this end could read the other's memory.
struct CarrierVerdict {
  bool works = false;
  std::string why;  // it does not
  bool operator==(const CarrierVerdict&) const = default;
};

// To each neighbour: this end does not start. Its status, as the neighbours are to have it.
struct CarrierRefusal {
  std::int32_t code = 0;
  std::string text;
  bool operator==(const CarrierRefusal&) const = default;
};

// From the end that sends messages. It lacks a place for each of these parts, in this order, after
// so many places that it has been given; and it has closed these, which are the other end's again.
struct PlacesAsked {
  std::uint64_t seen = 0;
  std::vector<std::uint64_t> sizes;  // bytes
  std::vector<std::uint32_t> closed;
  bool operator==(const PlacesAsked&) const = default;
};

// From the end that gets messages: each may be written to once.
struct PlacesGiven {
  struct Place {
    std::uint32_t id = 0;
    std::uint64_t bytes = 0;
    std::optional<MemoryHandle> handle;  // the first time
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> places;
  bool operator==(const PlacesGiven&) const = default;
};

// With the envelope of a message: its parts are in these places.
struct Landed {
  struct Part {
    std::uint32_t place = 0;
    std::uint64_t size = 0;  // bytes
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  Blob head;
  bool operator==(const Landed&) const = default;
};

// At the start, to each neighbour that is reached by NCCL.
struct NcclHello {
  std::string device;         // equal at both ends: it is one
  std::uint64_t process = 0;  // likewise
  bool operator==(const NcclHello&) const = default;
};

// From the end that will send: how NCCL calls the communicator of this direction.
struct NcclName {
  std::array<std::byte, 128> id{};
  bool operator==(const NcclName&) const = default;
};

// With the envelope of a message: its send has been launched, and its receive may be.
struct Launched {
  std::uint64_t number = 0;          // among those of this direction, from 0
  std::vector<std::uint64_t> sizes;  // per part, in bytes
  Blob head;
  bool operator==(const Launched&) const = default;
};

// At the end: there are no more in this direction.
struct AllLaunched {
  std::uint64_t count = 0;
  bool operator==(const AllLaunched&) const = default;
};

using CarrierWord = std::variant<CarrierHello, CarrierVerdict, CarrierRefusal, PlacesAsked,
                                 PlacesGiven, Landed, NcclHello, NcclName, Launched, AllLaunched>;

[[nodiscard]] Payload encode_word(const CarrierWord& word);
// Refuses what encode_word() does not make.
core::Status decode_word(Payload payload, CarrierWord& word);

}  // namespace ripeline::runtime::process
