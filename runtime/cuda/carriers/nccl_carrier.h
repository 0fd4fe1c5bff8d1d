// NcclCarrier: sends and receives of NCCL, between hosts as well as on one.
//
//   sender                               receiver
//   launches the send of message k
//   launched: k, head, sizes          →  takes buffers, and launches the receives
//   sees the end of its send             sees their end, and delivers the message
//   all launched: their number        →  compares that with the number received
//
// Unlike other carriers' moves, an enqueued operation of NCCL waits on the device for its other
// side, and may keep that side from starting. runtime/cuda/carriers/nccl_end.h has the rules under
// which no operation waits for ever. Here each direction has a communicator of two ranks and a
// stream of highest priority, and at most one operation is under way at each end. Meanwhile nobody
// in the process may make a call that waits for the whole device: cudaFree() and cudaFreeHost() are
// such calls, and so is the first use of a kernel that is loaded lazily.
//
// All parts of a message are one operation with one number, since separate operations would be
// launched behind the one under way. An empty part is not sent. NCCL itself compares nothing. The
// numbers say which receive belongs to a send, and both ends compare them with their own.
//
// When the peer is gone its communicators are aborted, and messages that have not landed by then
// are not delivered. Parts are on this process's device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/cuda/carriers/carrier.h"
#include "runtime/cuda/carriers/nccl_end.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/nccl/nccl_library.h"

namespace ripeline::runtime::cuda {

// A connected direction: rank 0 of `comm` sends to rank 1. `comm` is destroyed before the stream.
struct NcclWay {
  Stream stream;
  std::unique_ptr<NcclComm> comm;
};
struct NcclPair {
  NcclWay out;
  NcclWay in;
};

class NcclCarrier final : public Carrier {
 public:
  // `control` is borrowed. A part of more than `largest_part` bytes is a violation.
  NcclCarrier(Transport& control, int peer, const DeviceMemory& memory, NcclPair pair,
              std::size_t largest_part);
  ~NcclCarrier() override;

  [[nodiscard]] CarrierKind kind() const override { return CarrierKind::nccl; }
  core::Status receive_control(protocol::CarrierMessage message, const Envelope& envelope) override;
  void peer_is_gone() override;
  core::Status close() override;
  [[nodiscard]] bool is_closed() const override;

 private:
  struct Way {
    NcclWay nccl;
    NcclEnd end;
  };

  core::Status launch(Message& message, cudaStream_t& stream) override;
  core::Status landed(Message message) override;
  core::Status look_after() override;
  core::Status send(const Message& message);
  core::Status receive(Message& message);
  core::Status take(protocol::Launched launched, const Envelope& envelope);
  core::Status take(const protocol::AllLaunched& all);
  void abort();

  DeviceMemory memory_;
  const std::size_t largest_part_;
  Way out_;
  Way in_;
  std::uint64_t announced_ = 0;              // messages from the peer, without a gap
  std::map<std::uint64_t, Delivery> ahead_;  // announced after a gap, by number
  std::optional<std::uint64_t> all_;         // messages that the peer has launched in all
  bool has_closed_ = false;
  bool is_gone_ = false;
};

}  // namespace ripeline::runtime::cuda
