// Carrier: moves parts of messages between this process's device and that of one peer, both ways. A
// DeviceTransport has a carrier for each of its neighbours, and both ends have the same kind.
//
// Each message, in either direction, goes through the same states:
//
//   queued      until all that it needs is there: a place at its receiver, say, or its turn
//   in flight   the device moves its parts; the buffers that they lie in are kept
//   landed      the host has seen the end of the move: the receiver is told, or delivers the parts
//   released    the buffers may be used for something else
//
// Each kind of carrier adds launch(), which takes a message from the first state to the second, and
// landed(), which takes it to the third. The two ends exchange words, over the transport of host
// bytes (runtime/process/carrier_words.h); words may overtake each other. Except with `nccl`, no
// device waits for another process: only work that can be done without the peer is enqueued.
//
// A carrier whose moves have two sides (one sends, the other receives) queues an announced message
// with expect(), and launches its receive in turn. Fails by status: `invalid`, from hear(), and
// `lost` are the peer's fault, anything else the device's. One thread, in which the device is
// current; no call waits, except when memory is allocated or freed, which CUDA may do only when the
// device has finished its work.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "runtime/cuda/completions.h"
#include "runtime/process/carrier_words.h"
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
  // `control` is borrowed, and leads to the peer.
  Carrier(Transport& control, int peer) : control_(control), peer_(peer) {}
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  [[nodiscard]] virtual CarrierKind kind() const = 0;

  // Sends a message whose data are complete to the peer.
  void send(const Envelope& envelope, Payload payload);
  // Takes a word of the peer's carrier, and the envelope of the message that it is about.
  virtual core::Status hear(process::CarrierWord word, const Envelope& envelope);
  // Advances every message that can be advanced, and appends those that are to be delivered.
  core::Status progress(std::vector<Delivery>& deliveries);

  // The bytes of messages to the peer that are queued or in flight.
  [[nodiscard]] std::size_t queued() const;
  // Whether this end knows of a message from the peer that it has not delivered.
  [[nodiscard]] bool is_expecting() const;
  // Whether progress() has to be called again soon, even if nothing comes from the peer.
  [[nodiscard]] virtual bool is_busy() const { return !in_flight_.empty(); }
  [[nodiscard]] bool is_idle() const { return queued_.empty() && in_flight_.empty(); }

  // Stops sending to the peer. Its process may still run, so memory of this process that the peer
  // has open stays until this process ends.
  virtual void peer_is_gone();
  // To be called when nothing is sent any more: closes the memory that is the peer's. is_closed()
  // is then false as long as the peer has memory of this end open.
  virtual core::Status close() { return {}; }
  [[nodiscard]] virtual bool is_closed() const { return true; }

 protected:
  struct Message {
    bool is_to_peer = false;
    Envelope envelope;
    Payload payload;                    // with the parts that are moved, once launched
    std::vector<Bytes> onto;            // the targets, if they are this process's memory
    std::vector<std::uint32_t> places;  // the targets, if they are places of the peer
  };

  // Enqueues the message's move, and sets its stream; null: the message has to wait until the next
  // progress(). Within a progress(), messages are tried in the order in which they were queued.
  virtual core::Status launch(Message& message, cudaStream_t& stream) = 0;
  // Called when the enqueued move is over: tells the peer, or deliver()s the message.
  virtual core::Status landed(Message message) = 0;
  // Called once in each progress(), after all queued messages have been tried.
  virtual core::Status look_after() { return {}; }

  // Queue a message from the peer; deliver one that has landed.
  void expect(Delivery delivery);
  void deliver(Delivery delivery);
  // The word may be about the message of an envelope of Data.
  core::Status say(const process::CarrierWord& word, const Envelope& envelope = {});
  // Drops the queued messages: none of them will be launched.
  void forget_queued() { queued_.clear(); }
  [[nodiscard]] Transport& control() { return control_; }
  [[nodiscard]] int peer() const { return peer_; }

 private:
  Transport& control_;
  const int peer_;
  std::deque<Message> queued_;
  Completions moves_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Message> in_flight_;  // by number, as `moves_` has them
  std::vector<std::uint64_t> over_;
  std::vector<Delivery> landed_;  // to be delivered
};

}  // namespace ripeline::runtime::cuda
