// UcxWorker: messages between this process and others over UCX. Private to network/ucx.
//
// A message is a header, which is copied, and the parts of a payload, which are not copied: long
// parts go from the sender's memory straight into the receiver's buffers. Only the source file
// includes UCX's headers. All is done in the thread that calls progress(). progress() calls the
// receiver, which must not call back.
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

// The sender's token, a frame's header, the sizes of the parts and the payload's head.
inline constexpr std::size_t kLargestHeader =
    sizeof(std::uint64_t) + kHeaderBytes + kMostParts * sizeof(std::uint64_t) + kLargestHead;

class UcxWorker {
 public:
  // The sender of a message, and the frame into whose parts the bytes of the message are put.
  struct Arrival {
    int from = -1;
    Frame frame;
  };
  class Receiver {
   public:
    virtual ~Receiver() = default;
    // Called when a message of `bytes` bytes begins to arrive; returns nullopt to reject it. With
    // `at_sender`, the bytes are still in the sender's memory.
    virtual std::optional<Arrival> begins(std::span<const std::byte> header, std::size_t bytes,
                                          bool at_sender) = 0;
    virtual void came(Arrival&& arrival) = 0;
    // Called when the connection to `process` has failed. May be called more than once.
    virtual void broke(int process, const std::string& how) = 0;
  };

  // `receiver` is borrowed. Fails with UCX's error.
  static core::Status open(int processes, Receiver& receiver, std::unique_ptr<UcxWorker>& worker);
  // Closes all connections. Messages that have not been sent are dropped.
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  // The address that others need to connect with this worker.
  [[nodiscard]] std::vector<std::byte> address() const;
  void connect(int process, std::span<const std::byte> address);
  // Drops the message if `process` is not connected. The header has at most kLargestHeader bytes.
  void send(int process, std::vector<std::byte> header, Payload payload);
  // The number of bytes of messages to `process` that have not been sent yet.
  [[nodiscard]] std::size_t queued(int process) const {
    return peer(process).endpoint == nullptr ? 0 : peer(process).bytes;
  }
  // Asks UCX to send all that its own buffers hold for `process`.
  void flush(int process);
  // Whether bytes for `process` are queued, or a flush of UCX's buffers has not ended.
  [[nodiscard]] bool is_sending(int process) const {
    return queued(process) > 0 || (peer(process).endpoint != nullptr && peer(process).flushes > 0);
  }
  // Closes the connection; drops messages that have not been sent or received completely.
  void close(int process);

  // Moves the bytes that can move now, or only a part of them if they are many.
  void progress();
  // Makes descriptor() readable once something can be moved. False if something can be moved now.
  [[nodiscard]] bool arm();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  struct Callbacks;
  struct Sending;
  struct Receiving;
  struct Peer {
    ucp_ep* endpoint = nullptr;
    std::size_t bytes = 0;  // queued
    int flushes = 0;        // flushes that have not ended
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
  std::list<Sending> sendings_;      // messages that UCX is sending
  std::list<Receiving> receivings_;  // messages that UCX is fetching
  int closings_ = 0;
};

}  // namespace ripeline::runtime::network
