// IpcCarrier: the sender's device writes to memory of the receiver's device, which CUDA lets other
// processes of the host open (cudaIpcOpenMemHandle). The processes may share one device.
//
//   sender                             receiver
//   asks for buffers of these sizes →
//                                   ←  gives buffers of its memory, with a handle each
//   copies, and sees the end of that
//   landed: head, buffers           →  delivers the message
//                                      sees that those parts are no longer read
//                                   ←  gives the buffer again, unasked
//
// So a step that is like the one before has no round trip, allocates nothing and opens nothing;
// runtime/cuda/carriers/exports.h bounds the number of buffers. Sizes may vary: a part goes to the
// smallest buffer that is large enough. If there is none, the sender closes the smallest buffer
// that it does not use, and the receiver frees that buffer before it allocates a larger one. So
// there are as many buffers as were ever needed at once, and they grow with the parts.
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
  std::size_t largest_part = std::size_t{1} << 36;  // bytes; a longer part is a violation
};

class IpcCarrier final : public Carrier {
 public:
  // `control` is borrowed. The carrier owns the stream.
  IpcCarrier(Transport& control, int peer, const DeviceMemory& memory, Stream stream,
             const IpcLimits& limits);
  ~IpcCarrier() override;

  [[nodiscard]] CarrierKind kind() const override { return CarrierKind::ipc; }
  core::Status receive_control(protocol::CarrierMessage message, const Envelope& envelope) override;
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
  core::Status give(protocol::BuffersGiven given);
  core::Status take(const protocol::BuffersGiven& given);
  core::Status take(protocol::Landed landed, const Envelope& envelope);

  Stream stream_;
  Exports exports_;
  Imports imports_;
  std::vector<std::uint64_t> lacking_;  // sizes of parts without a buffer, in order
  std::vector<std::uint64_t> asked_;    // the sizes in the last request,
  std::uint64_t asked_after_ = 0;       // and how many buffers had been given by then
  bool is_gone_ = false;
  bool is_closing_ = false;
};

}  // namespace ripeline::runtime::cuda
