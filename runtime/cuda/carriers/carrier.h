// Carrier: how the parts of messages get from this process's device to that of one peer, and from
// there. A DeviceTransport has one for each of its neighbours, and both ends have the same kind.
//
// Each message, in either direction, goes through the same states:
//
//   queued      until what it needs is there: a place at its receiver, say, or its turn
//   in flight   the device moves its parts; what they lie in is kept
//   landed      the host has seen that they are there: the receiver is told, or delivers it
//   released    what its parts lay in may be used for something else
//
// What a carrier adds: launch() takes a message from the first state to the second, landed() to the
// third. Whatever it tells its other end are words (runtime/carrier_words.h), which go over the
// transport of the host's bytes and may overtake each other. No device waits for another process:
// only what can be done without the peer is enqueued. Of `nccl` that does not hold.
//
// A carrier whose moves have two sides (one sends, the other receives) queues what it was told of,
// with expect(), and launches it when its turn comes. Fails by status: `invalid`, from hear(), and
// `lost` are the peer's fault, anything else the device's. One thread, in which the device is
// current; nothing waits, but for memory that is made or freed: CUDA may do that only when the
// device has done what it was given.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "runtime/carrier_words.h"
#include "runtime/cuda/completions.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

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

  // A message to the peer, whose data are complete.
  void send(const Envelope& envelope, Payload payload);
  // Takes a word of the peer's carrier, and the envelope that came with it.
  virtual core::Status hear(CarrierWord word, const Envelope& envelope);
  // Lets everything go on that can, and appends what is to be delivered.
  core::Status progress(std::vector<Delivery>& deliveries);

  // Bytes of messages to the peer that are not released.
  [[nodiscard]] std::size_t queued() const;
  // Whether a message from the peer is on its way, of which this end knows.
  [[nodiscard]] bool is_expecting() const;
  // Whether it has to be asked again soon, although nothing comes.
  [[nodiscard]] virtual bool is_busy() const { return !in_flight_.empty(); }
  [[nodiscard]] bool is_idle() const { return queued_.empty() && in_flight_.empty(); }

  // The peer gets nothing any more. It need not have ended: what it has of this process's memory
  // stays, until the process ends.
  virtual void peer_is_gone();
  // Nothing is sent any more: lets go of what is the peer's. Then, until what this end has is used
  // by this process alone, is_closed() is false.
  virtual core::Status close() { return {}; }
  [[nodiscard]] virtual bool is_closed() const { return true; }

 protected:
  struct Message {
    bool is_to_peer = false;
    Envelope envelope;
    Payload payload;                    // with the parts that are moved, once launched
    std::vector<Bytes> onto;            // where to, as far as that is this process's to say
    std::vector<std::uint32_t> places;  // or which of the peer's
  };

  // Enqueues what moves the message, and names the stream; null: it has to wait, and is asked about
  // again by the next progress(). Messages are asked about in the order in which they were queued.
  virtual core::Status launch(Message& message, cudaStream_t& stream) = 0;
  // The enqueued move is over: tells the peer, or deliver()s the message.
  virtual core::Status landed(Message message) = 0;
  // Once for each progress(), after all that is queued has been asked about.
  virtual core::Status look_after() { return {}; }

  // Messages from the peer: one that is queued, one that has landed.
  void expect(Delivery delivery);
  void deliver(Delivery delivery);
  core::Status say(const CarrierWord& word, const Envelope& envelope = {});
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

}  // namespace ripeline::runtime
