// Connection: sends and receives frames over one socket, Unix or TCP. Private to network/socket.
//
// A connection reads frames one after another, each no longer than allowed, and writes frames in
// the order given. send() writes what the kernel takes; the io_context writes the rest. A wrong
// format closes the connection. The handlers run inside the io_context of the owner's thread, in
// which all calls but pulse() must be made. The object lives as long as one of its operations does.
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
#include "runtime/network/buffer_pool.h"
#include "runtime/network/frame.h"

namespace ripeline::runtime::network {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Handlers {
    std::function<void(Frame&&)> on_frame;
    std::function<void(const core::Status&)> on_closed;  // called once, but not after close()
  };

  // Takes ownership of the socket, which must be non-blocking, and connected or connecting. The
  // parts of payloads that arrive are put into `pool`, which is borrowed.
  Connection(asio::io_context& io, int descriptor, std::uint64_t token,
             std::uint64_t largest_payload, BufferPool& pool);

  void start(Handlers handlers);
  // Sets the handlers, beginning with the next frame. A handler may call this function.
  void hand_over(Handlers handlers);
  void send(Frame frame);
  // Writes the frame to show life, unless waiting bytes will do that. May be called in any thread.
  void pulse(const Header& frame);
  // Bytes that wait to be written; 0 once the socket has failed or is closed.
  [[nodiscard]] std::size_t queued() const;
  // The time at which bytes last arrived, on the monotonic clock.
  [[nodiscard]] core::Time heard() const { return heard_; }
  void close();
  // Only closes the descriptor: see Transport. Takes no lock, which another thread may have held.
  void close_in_child() const;

  // False if another user's process is at the other end of a Unix socket; always true over TCP.
  [[nodiscard]] bool is_of_own_user() const;

 private:
  struct Write {
    Header header;
    std::vector<std::byte> sizes;
    Payload payload;
    std::size_t bytes = 0;  // in header, sizes and payload together
    std::size_t done = 0;
  };
  // The kind of the next bytes.
  enum class Reading : std::uint8_t { header, sizes, head, part };

  void read();
  void received(std::size_t bytes);
  core::Status take_bytes();
  core::Status take_header(const std::byte* from);
  // Prepares for the next piece; if that is a header, the present frame is complete.
  core::Status next_piece();
  core::Status take_part();
  void expect(Reading what, std::byte* to, std::size_t bytes);
  void deliver();
  void write();  // needs the mutex, as does wait_to_write()
  void wait_to_write();
  void closed(const core::Status& why);

  asio::generic::stream_protocol::socket socket_;
  std::uint64_t token_;
  std::uint64_t largest_payload_;
  BufferPool& pool_;
  Handlers handlers_;
  std::optional<Handlers> next_handlers_;
  bool open_ = true;
  bool delivering_ = false;

  // The bytes from begin_ to end_ of the buffer were read, but do not belong to a piece yet.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  // The frame that is being read, and its present piece, whose missing bytes are written to to_.
  Frame frame_;
  Reading reading_ = Reading::header;
  std::byte* to_ = nullptr;
  std::size_t missing_ = 0;
  std::vector<std::byte> size_bytes_;
  std::vector<std::uint64_t> sizes_;  // the parts' sizes

  core::Time heard_{0};
  bool was_up_ = false;  // bytes have arrived
  asio::error_code write_error_;

  mutable std::mutex mutex_;
  // Guarded by the mutex, as is writing to the socket.
  std::deque<Write> writes_;  // the first one may be partly written
  std::size_t queued_ = 0;    // the bytes of these that are not written
  bool waits_to_write_ = false;
  int descriptor_ = -1;                     // -1 if closed
  std::vector<asio::const_buffer> pieces_;  // the buffers of one write
};

// Sets close-on-exec. A Unix socket gets kernel buffers of `kernel_bytes`. A TCP socket, whose
// buffers the system sizes itself, sends each frame without waiting for more to send, and is kept
// alive while idle.
void prepare_socket(int descriptor, int kernel_bytes);

}  // namespace ripeline::runtime::network
