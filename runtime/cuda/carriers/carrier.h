// Carrier: moves parts of messages between this process's device and that of one peer, both ways. A
// DeviceTransport has a carrier for each of its neighbours, and both ends have the same kind.
//
// Each message, in either direction, goes through the same states:
//
//   queued      until the message has all that it needs, such as a buffer at its receiver
//   in flight   the device moves its parts; the buffers that contain them are kept
//   landed      the host has seen the end of the move; the receiver is told, or delivers the parts
//   released    the buffers may be used for something else
//
// Each kind of carrier adds launch(), which takes a message from the first state to the second, and
// landed(), which takes it to the third. The two ends exchange control messages over the transport
// of host bytes (runtime/protocol/carrier_messages.h); these may overtake each other. Except with
// `nccl`, no device waits for another process: only work that can be done without the peer is
// enqueued.
//
// In a carrier whose moves have two sides, a send and a receive, the receiver queues an announced
// message with expect() and launches the receive in turn. Failures are statuses: `lost`, and
// `invalid` from receive_control(), are the peer's fault; all others are the device's. One thread,
// in which the device is current; no call waits, except when memory is allocated or freed, which
// CUDA may do only when the device has finished its work.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "runtime/cuda/completions.h"
#include "runtime/protocol/carrier_messages.h"
#include "runtime/transport.h"

namespace ripeline::runtime::cuda {

enum class CarrierKind : std::uint8_t {
  staged,  // through pinned memory of the host, over any transport
  ipc,     // the sender writes to the receiver's memory: processes of one host
  nccl,    // sends and receives of NCCL, which wait for each other
};
[[nodiscard]] std::string_view name_of(CarrierKind kind);

class Carrier {
 public:
  // `control` is a transport to the peer; it is borrowed.
  Carrier(Transport& control, int peer) : control_(control), peer_(peer) {}
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  [[nodiscard]] virtual CarrierKind kind() const = 0;

  // Sends a message whose data are complete to the peer.
  void send(const Envelope& envelope, Payload payload);
  // Takes a control message from the peer's carrier, and the envelope of the message it concerns.
  virtual core::Status receive_control(protocol::CarrierMessage message, const Envelope& envelope);
  // Advances every message that can be advanced, and appends those that are to be delivered.
  core::Status progress(std::vector<Delivery>& deliveries);

  // The number of bytes of messages to the peer that are queued or in flight.
  [[nodiscard]] std::size_t queued() const;
  // Whether this end knows of a message from the peer that is not yet delivered.
  [[nodiscard]] bool is_expecting() const;
  // Whether progress() must be called again soon, even if nothing arrives from the peer.
  [[nodiscard]] virtual bool is_busy() const { return !in_flight_.empty(); }
  [[nodiscard]] bool is_idle() const { return queued_.empty() && in_flight_.empty(); }

  // Stops sending to the peer. The peer's process may still run, so memory of this process that it
  // has open stays allocated until this process ends.
  virtual void peer_is_gone();
  // Closes the peer's memory; call this when nothing is sent any more. Afterwards is_closed() is
  // false as long as the peer has memory of this end open.
  virtual core::Status close() { return {}; }
  [[nodiscard]] virtual bool is_closed() const { return true; }

 protected:
  struct Message {
    bool is_to_peer = false;
    Envelope envelope;
    Payload payload;                     // once launched, has the parts that move
    std::vector<Bytes> onto;             // the targets, if they are this process's memory
    std::vector<std::uint32_t> buffers;  // the targets, if they are buffers of the peer
  };

  // Enqueues the message's move and sets `stream` to its stream, or to null if the message must
  // wait for the next progress(). Each progress() tries the messages in the order of their queuing.
  virtual core::Status launch(Message& message, cudaStream_t& stream) = 0;
  // Called when the enqueued move is over: tells the peer, or deliver()s the message.
  virtual core::Status landed(Message message) = 0;
  // Called once in each progress(), after all queued messages have been tried.
  virtual core::Status look_after() { return {}; }

  // expect() queues a message from the peer; deliver() delivers one that has landed.
  void expect(Delivery delivery);
  void deliver(Delivery delivery);
  // Sends a control message. If it is about a data message, `envelope` is that message's envelope.
  core::Status send_control(const protocol::CarrierMessage& message, const Envelope& envelope = {});
  // Drops the queued messages, so that none of them is launched.
  void forget_queued() { queued_.clear(); }
  [[nodiscard]] Transport& control() { return control_; }
  [[nodiscard]] int peer() const { return peer_; }

 private:
  Transport& control_;
  const int peer_;
  std::deque<Message> queued_;
  Completions moves_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Message> in_flight_;  // by their numbers in `moves_`
  std::vector<std::uint64_t> over_;
  std::vector<Delivery> landed_;  // to be delivered
};

}  // namespace ripeline::runtime::cuda
