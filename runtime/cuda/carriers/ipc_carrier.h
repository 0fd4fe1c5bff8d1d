// IpcCarrier: the sender's device writes to memory of the receiver's device, which CUDA lets other
// processes of the host open (cudaIpcOpenMemHandle). The processes may share one device.
//
//   sender                             receiver
//   asks for places of these sizes  →
//                                   ←  gives places: buffers of its memory, with a handle each
//   copies, and sees that it is over
//   landed: head, places            →  delivers the message
//                                      sees that what it delivered is no longer read
//                                   ←  gives the place again, unasked
//
// So a step that is like the one before has no round trip, allocates nothing and opens nothing;
// runtime/cuda/carriers/exports.h bounds the number of buffers. Sizes may vary: a part goes to the
// smallest place that is large enough. If no place is, the sender closes the smallest place that it
// does not use, and the receiver frees that buffer before it allocates a larger one. So there are
// as many buffers as were ever needed at once, and they grow with the parts.
//
// Parts are on this process's device.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/carriers/carrier.h"
#include "runtime/cuda/carriers/exports.h"
#include "runtime/cuda/carriers/imports.h"

namespace ripeline::runtime::cuda {

struct IpcLimits {
  // Buffer sizes are multiples of this. A smaller buffer might share its allocation with other
  // memory of the process, which would then be open to the peer, too.
  std::size_t granule = std::size_t{2} << 20;
  std::size_t largest_part = std::size_t{1} << 36;  // bytes; a longer one is a violation
};

class IpcCarrier final : public Carrier {
 public:
  // `control` is borrowed. The carrier owns the stream.
  IpcCarrier(Transport& control, int peer, const DeviceMemory& memory, Stream stream,
             const IpcLimits& limits);
  ~IpcCarrier() override;

  [[nodiscard]] CarrierKind kind() const override { return CarrierKind::ipc; }
  core::Status hear(process::CarrierWord word, const Envelope& envelope) override;
  [[nodiscard]] bool is_busy() const override {
    return Carrier::is_busy() || exports_.is_waiting();
  }
  void peer_is_gone() override;
  core::Status close() override;
  [[nodiscard]] bool is_closed() const override { return is_gone_ || exports_.is_closed(); }

 private:
  core::Status launch(Message& message, cudaStream_t& stream) override;
  core::Status landed(Message message) override;
  core::Status look_after() override;
  core::Status ask();
  core::Status give(process::PlacesGiven given);
  core::Status take(const process::PlacesGiven& given);
  core::Status take(process::Landed landed, const Envelope& envelope);

  Stream stream_;
  Exports exports_;
  Imports imports_;
  std::vector<std::uint64_t> lacking_;  // sizes of parts without a place, in order
  std::vector<std::uint64_t> asked_;    // the sizes in the last request,
  std::uint64_t asked_after_ = 0;       // and how many places had been given by then
  bool is_gone_ = false;
  bool is_closing_ = false;
};

}  // namespace ripeline::runtime::cuda
