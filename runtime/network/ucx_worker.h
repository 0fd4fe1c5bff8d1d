// UcxWorker: messages between this process and others over UCX. Private to network/ucx.
//
// A message is a header, which is copied, and the parts of a payload, which are not: what is long
// goes from the sender's memory into where the receiver wants it. UCX's headers stay in the source.
// One thread, which calls progress(); from inside it the receiver is called, which does not call
// back.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/network/frame.h"

struct ucp_context;
struct ucp_worker;
struct ucp_ep;

namespace ripeline::runtime::network {

// The token that identifies the sender, a frame's header, sizes of parts, and a payload's head.
inline constexpr std::size_t kLargestHeader =
    sizeof(std::uint64_t) + kHeaderBytes + kMostParts * sizeof(std::uint64_t) + kLargestHead;

class UcxWorker {
 public:
  // Where a message comes from, and with the parts of its payload where its bytes are put.
  struct Arrival {
    int from = -1;
    Frame frame;
  };
  class Receiver {
   public:
    virtual ~Receiver() = default;
    // A message of `bytes` bytes has begun to come; nothing: it is not wanted. `at_sender`: its
    // bytes are still in its sender's memory.
    virtual std::optional<Arrival> begins(std::span<const std::byte> header, std::size_t bytes,
                                          bool at_sender) = 0;
    virtual void came(Arrival&& arrival) = 0;
    // Nothing goes there or comes from there any longer. Perhaps more than once.
    virtual void broke(int process, const std::string& how) = 0;
  };

  // `receiver` is borrowed. Fails by status: what UCX says.
  static core::Status open(int processes, Receiver& receiver, std::unique_ptr<UcxWorker>& worker);
  // Closes all. What is not sent is dropped.
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  // The address that others need to connect with this worker.
  [[nodiscard]] std::vector<std::byte> address() const;
  void connect(int process, std::span<const std::byte> address);
  // Forgotten if it is not connected. The header is at most kLargestHeader.
  void send(int process, std::vector<std::byte> header, Payload payload);
  // Bytes of messages that have not left yet.
  [[nodiscard]] std::size_t queued(int process) const {
    return peer(process).endpoint == nullptr ? 0 : peer(process).bytes;
  }
  // Asks that all that was sent to it leaves UCX's own buffers.
  void flush(int process);
  // Something is queued, or has not left them.
  [[nodiscard]] bool is_sending(int process) const {
    return queued(process) > 0 || (peer(process).endpoint != nullptr && peer(process).flushes > 0);
  }
  // Drops what has not been sent or has not come whole.
  void close(int process);

  // Moves what can be moved, if it is much a part of it.
  void progress();
  // From now on descriptor() becomes readable when there is something to move. False: there is.
  [[nodiscard]] bool arm();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  struct Callbacks;
  struct Sending;
  struct Receiving;
  struct Peer {
    ucp_ep* endpoint = nullptr;
    std::size_t bytes = 0;  // queued
    int flushes = 0;        // not done
  };

  UcxWorker(int processes, Receiver& receiver);
  core::Status start();
  [[nodiscard]] const Peer& peer(int process) const {
    return peers_[static_cast<std::size_t>(process)];
  }
  [[nodiscard]] Peer& peer(int process) { return peers_[static_cast<std::size_t>(process)]; }

  Receiver& receiver_;
  std::vector<Peer> peers_;
  ucp_context* context_ = nullptr;
  ucp_worker* worker_ = nullptr;
  int descriptor_ = -1;
  std::list<Sending> sendings_;      // those that UCX has
  std::list<Receiving> receivings_;  // likewise
  int closings_ = 0;
};

}  // namespace ripeline::runtime::network
