// CarrierChoice: which carrier goes between this process and each of its neighbours.
//
// At the start each tells each neighbour which carrier it was told to use, if any, on which host it
// is, and how to open some memory of its device. Who is on the same host opens it, reads what is
// there, and says whether that went. Where it did at both ends they use `ipc`, else `staged`; so
// both ends come to the same. Who was told to use one carrier gets that one or is refused, as are
// two that were not told the same. `nccl` is used where all are told so, and nowhere else.
//
// Waits for others up to the meeting's limit, and for the device as long as that takes. Fails by
// status. One thread, in which the device is current.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/carriers/carrier.h"
#include "runtime/cuda/carriers/carrier_meeting.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/place.h"

namespace ripeline::runtime {

// Reads RIPELINE_CARRIER from the environment; nothing if it is not set. Refuses any other text.
core::Status read_carrier(std::optional<CarrierKind>& carrier);

// Equal in processes that can open each other's memory, as far as the system tells: which system is
// running, since when, and the process's namespace for what processes share.
[[nodiscard]] std::string memory_host();

class CarrierChoice {
 public:
  // This end: the carrier that it must use, if any, and what it can use.
  struct End {
    std::optional<CarrierKind> carrier;
    std::string host;
    std::string why_no_nccl;  // empty: it is there
    std::size_t granule = 0;  // bytes of the sample that others open
  };

  // All but the end are borrowed.
  CarrierChoice(CarrierMeeting& meeting, Place& pinned, const DeviceMemory& memory, End end);

  // Once.
  core::Status meet();

  [[nodiscard]] CarrierKind of(int peer) const;
  // "ipc with rank 1, staged with rank 2 (on another host)".
  [[nodiscard]] std::string text() const;

 private:
  struct Peer {
    bool has_said_hello = false;
    bool works = false;  // for this end
    bool works_for_it = false;
    bool has_judged = false;
    std::string why_not;
  };

  core::Status offer(CarrierHello& hello);
  core::Status hear(CarrierMeeting::Word word);
  core::Status hear(int from, const CarrierHello& hello);
  core::Status try_out(int from, const CarrierHello& hello);
  // Reads the other's memory.
  core::Status read_from(const CarrierHello& hello);
  [[nodiscard]] core::Status has_nccl(int process, const std::string& why_not) const;
  core::Status agree() const;
  core::Status copy(void* onto, const void* from);
  [[nodiscard]] int first_missing() const;  // -1: none

  CarrierMeeting& meeting_;
  Place& pinned_;
  DeviceMemory memory_;
  const End end_;
  Stream stream_;
  DeviceMemory::Own sample_;  // opened by others
  std::uint64_t token_ = 0;   // written there
  std::map<int, Peer> peers_;
};

}  // namespace ripeline::runtime
