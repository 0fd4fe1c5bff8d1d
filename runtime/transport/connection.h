// Connection: frames over one Unix socket. Private to transport/socket.
//
// Reads frames one after another, each only as long as allowed, and writes those given in their
// order, as the kernel takes them: at once as far as it can, the rest from the io_context. Whatever
// breaks the format closes it. Its handlers run inside the io_context of its owner's thread; it
// lives as long as one of its operations does.
#pragma once

#include <sys/types.h>

#include <asio/local/stream_protocol.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/status.h"
#include "runtime/transport/frame.h"

namespace ripeline::runtime {

using UnixSocket = asio::local::stream_protocol::socket;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Handlers {
    std::function<void(Frame&&)> on_frame;
    std::function<void(const core::Status&)> on_closed;  // once; not after close()
  };

  // The socket is connected and does not block.
  Connection(UnixSocket socket, std::uint64_t token, std::uint64_t largest_payload);

  void start(Handlers handlers);
  // From the next frame on they go there; may be called by a handler.
  void hand_over(Handlers handlers);
  void send(Frame frame);
  // Forgets the frames that are not begun, so that this one is the next.
  void send_last(Frame frame);
  // Nothing waits to be written, or nobody is there to read it.
  [[nodiscard]] bool flushed() const { return writes_.empty(); }
  void close();

  // The user at the other end; -1 if the system does not say.
  [[nodiscard]] uid_t peer_user() const;

 private:
  struct Write {
    Header header;
    Payload payload;
    std::size_t done = 0;  // bytes, of both
  };

  void read();
  void received(std::size_t bytes);
  core::Status take_frames();
  core::Status take_header(const std::byte* from);
  void deliver();
  void write();
  void wait_to_write();
  void closed(const core::Status& why);

  UnixSocket socket_;
  std::uint64_t token_;
  std::uint64_t largest_payload_;
  Handlers handlers_;
  std::optional<Handlers> next_handlers_;
  bool open_ = true;
  bool delivering_ = false;

  // What was read: bytes from begin_ to end_ of the buffer belong to no frame yet, or frame_ lacks
  // the rest of its payload.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Frame frame_;
  bool in_payload_ = false;
  std::size_t payload_bytes_ = 0;  // of frame_
  std::size_t payload_read_ = 0;

  std::deque<Write> writes_;  // the first one may be begun
  bool waits_to_write_ = false;
};

// Large kernel buffers, not inherited by programs that this process starts.
void prepare_socket(int descriptor);

}  // namespace ripeline::runtime
