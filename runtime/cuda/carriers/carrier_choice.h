// CarrierChoice: chooses the carrier between this process and each of its neighbours.
//
// At the start each process tells its neighbours its host, the carrier that it must use, if any,
// and how to open a sample of its device's memory. A neighbour on the same host opens and reads
// that sample, and reports whether that worked. If it worked at both ends they use `ipc`, else
// `staged`, so both ends choose alike. A process that cannot have the carrier that it must use is
// refused; so are neighbours that must use different carriers. `nccl` is used only if all must.
//
// Waits for other processes up to the meeting's limit, and for the device without a limit. Fails by
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
#include "runtime/network/buffer_pool.h"

namespace ripeline::runtime::cuda {

// Reads RIPELINE_CARRIER from the environment; nullopt if it is not set. Refuses unknown carriers.
core::Status read_carrier(std::optional<CarrierKind>& carrier);

// A text that is equal in processes that can open each other's memory, as far as the system tells.
// It names the running system, its boot, and the process's namespace for shared objects.
[[nodiscard]] std::string memory_host();

class CarrierChoice {
 public:
  // This process's end: the carrier that it must use, if any, and what it can use.
  struct End {
    std::optional<CarrierKind> carrier;
    std::string host;
    std::string why_no_nccl;  // empty if NCCL can be used
    std::size_t granule = 0;  // bytes of the sample that others open
  };

  // All arguments but `end` are borrowed.
  CarrierChoice(CarrierMeeting& meeting, network::BufferPool& pinned, const DeviceMemory& memory,
                End end);

  // To be called once.
  core::Status meet();

  [[nodiscard]] CarrierKind of(int peer) const;
  // A text such as "ipc with rank 1, staged with rank 2 (on another host)".
  [[nodiscard]] std::string text() const;

 private:
  struct Peer {
    bool has_said_hello = false;
    bool works = false;  // this end could read the peer's sample
    bool works_for_it = false;
    bool has_judged = false;
    std::string why_not;
  };

  core::Status offer(protocol::CarrierHello& hello);
  core::Status receive(CarrierMeeting::Message message);
  core::Status receive(int from, const protocol::CarrierHello& hello);
  core::Status try_out(int from, const protocol::CarrierHello& hello);
  // Reads the sample in the other process's memory.
  core::Status read_from(const protocol::CarrierHello& hello);
  [[nodiscard]] core::Status has_nccl(int process, const std::string& why_not) const;
  core::Status agree() const;
  core::Status copy(void* onto, const void* from);
  [[nodiscard]] int first_missing() const;  // -1 if none

  CarrierMeeting& meeting_;
  network::BufferPool& pinned_;
  DeviceMemory memory_;
  const End end_;
  Stream stream_;
  DeviceMemory::Own sample_;  // opened and read by neighbours
  std::uint64_t token_ = 0;   // the content of the sample
  std::map<int, Peer> peers_;
};

}  // namespace ripeline::runtime::cuda
