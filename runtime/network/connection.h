// Connection: frames over one socket, of the host's or the network's. Private to network/socket.
//
// Reads frames one after another, each only as long as allowed, and writes those given in their
// order, as the kernel takes them: at once as far as it can, the rest from the io_context. Whatever
// breaks the format closes it. Its handlers run inside the io_context of its owner's thread, to
// which all belongs but pulse(); it lives as long as one of its operations does.
#pragma once

#include <asio/buffer.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/status.h"
#include "runtime/network/frame.h"
#include "runtime/network/place.h"

namespace ripeline::runtime::network {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Handlers {
    std::function<void(Frame&&)> on_frame;
    std::function<void(const core::Status&)> on_closed;  // once; not after close()
  };

  // The socket, which is taken over, does not block; it is connected, or about to be. The parts of
  // what arrives are put into `place`, which is borrowed.
  Connection(asio::io_context& io, int descriptor, std::uint64_t token,
             std::uint64_t largest_payload, Place& place);

  void start(Handlers handlers);
  // From the next frame on they go there; may be called by a handler.
  void hand_over(Handlers handlers);
  void send(Frame frame);
  // From any thread: writes the frame, unless something waits to be written, which says as much.
  void pulse(const Header& frame);
  // Bytes that wait to be written; none if nobody is there to read them.
  [[nodiscard]] std::size_t queued() const;
  // When bytes last came, on the monotonic clock.
  [[nodiscard]] core::Time heard() const { return heard_; }
  void close();

  // False: the system says that another user is at the other end. Of the network it says nothing.
  [[nodiscard]] bool is_of_own_user() const;

 private:
  struct Write {
    Header header;
    std::vector<std::byte> sizes;
    Payload payload;
    std::size_t bytes = 0;  // in all three
    std::size_t done = 0;
  };
  // The kind of the next bytes.
  enum class Reading : std::uint8_t { header, sizes, head, part };

  void read();
  void received(std::size_t bytes);
  core::Status take_bytes();
  core::Status take_header(const std::byte* from);
  // Expects the piece after the one that is complete; the frame is complete if that is a header.
  core::Status next_piece();
  core::Status take_part();
  void expect(Reading what, std::byte* to, std::size_t bytes);
  void deliver();
  void write();  // with the mutex held, as the next one
  void wait_to_write();
  void closed(const core::Status& why);

  asio::generic::stream_protocol::socket socket_;
  std::uint64_t token_;
  std::uint64_t largest_payload_;
  Place& place_;
  Handlers handlers_;
  std::optional<Handlers> next_handlers_;
  bool open_ = true;
  bool delivering_ = false;

  // Bytes that were read and belong nowhere yet: from begin_ to end_ of the buffer.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  // The frame that is being read, and its present piece, whose missing bytes go to to_.
  Frame frame_;
  Reading reading_ = Reading::header;
  std::byte* to_ = nullptr;
  std::size_t missing_ = 0;
  std::vector<std::byte> size_bytes_;
  std::vector<std::uint64_t> sizes_;  // the parts' sizes

  core::Time heard_{0};
  bool was_up_ = false;  // something has come
  asio::error_code write_error_;

  mutable std::mutex mutex_;
  // Guarded by the mutex, as is writing to the socket.
  std::deque<Write> writes_;  // the first one may be begun
  std::size_t queued_ = 0;    // bytes of them
  bool waits_to_write_ = false;
  int descriptor_ = -1;                     // -1: closed
  std::vector<asio::const_buffer> pieces_;  // one write's
};

// Not inherited by programs that this process starts. Of the host's: kernel buffers of so many
// bytes; of the network's, whose buffers the system sizes itself: nothing that is sent waits for
// more, and it is not forgotten while nothing is sent.
void prepare_socket(int descriptor, int kernel_bytes);

}  // namespace ripeline::runtime::network
