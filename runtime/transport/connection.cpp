#include "runtime/transport/connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <cstring>
#include <string>
#include <utility>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::size_t kBufferBytes = 64 << 10;
// A payload grows as its bytes come, so that a wrong length costs nothing, and piece by piece, so
// that the zeroing stays in the cache.
constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kReservedBytes = 64 << 20;  // at first; address space, not memory

Status gone() { return {StatusCode::lost, "connection closed"}; }

}  // namespace

void prepare_socket(int descriptor) {
  constexpr int kBytes = 4 << 20;  // a tensor: what the kernel holds moves while the rank computes
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  for (const auto& [force, plain] :
       {std::pair{SO_SNDBUFFORCE, SO_SNDBUF}, {SO_RCVBUFFORCE, SO_RCVBUF}}) {
    if (setsockopt(descriptor, SOL_SOCKET, force, &kBytes, sizeof kBytes) == 0) continue;
    setsockopt(descriptor, SOL_SOCKET, plain, &kBytes, sizeof kBytes);  // up to the system's limit
  }
}

Connection::Connection(UnixSocket socket, std::uint64_t token, std::uint64_t largest_payload)
    : socket_(std::move(socket)),
      token_(token),
      largest_payload_(largest_payload),
      buffer_(kBufferBytes) {
  asio::error_code ignored;
  socket_.non_blocking(true, ignored);
}

uid_t Connection::peer_user() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  auto& socket = const_cast<UnixSocket&>(socket_);  // native_handle() is not const
  if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return static_cast<uid_t>(-1);
  }
  return peer.uid;
}

void Connection::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  read();
}

void Connection::hand_over(Handlers handlers) {
  if (delivering_) {
    next_handlers_ = std::move(handlers);  // the present one is running
  } else {
    handlers_ = std::move(handlers);
  }
}

void Connection::close() {
  open_ = false;
  writes_.clear();
  asio::error_code ignored;
  socket_.close(ignored);
}

void Connection::closed(const Status& why) {
  if (!open_) return;
  close();
  handlers_.on_closed(why);
}

void Connection::read() {
  asio::mutable_buffer to = asio::buffer(buffer_) + end_;
  if (in_payload_) {
    const std::size_t piece = std::min(payload_bytes_ - payload_read_, kPieceBytes);
    if (frame_.payload.size() < payload_read_ + piece) frame_.payload.resize(payload_read_ + piece);
    // A small rest is read with the frames behind it.
    if (piece >= kBufferBytes) to = asio::buffer(frame_.payload.data() + payload_read_, piece);
  }
  socket_.async_read_some(to, [self = shared_from_this()](asio::error_code error, std::size_t n) {
    if (!self->open_) return;
    if (error) return self->closed(gone());
    self->received(n);
  });
}

void Connection::received(std::size_t bytes) {
  const bool was_direct =
      in_payload_ && std::min(payload_bytes_ - payload_read_, kPieceBytes) >= kBufferBytes;
  if (was_direct) {
    payload_read_ += bytes;
  } else {
    end_ += bytes;
  }
  const Status status = take_frames();
  if (!status.ok()) return closed(status);
  if (open_) read();
}

Status Connection::take_frames() {
  while (open_) {
    if (!in_payload_) {
      if (end_ - begin_ < kHeaderBytes) {
        const std::span<const std::byte> here(buffer_.data() + begin_, end_ - begin_);
        if (here.size() < kPrefixBytes) break;
        if (Status status = check_prefix(here.first<kPrefixBytes>()); !status.ok()) return status;
        break;
      }
      if (Status status = take_header(buffer_.data() + begin_); !status.ok()) return status;
      begin_ += kHeaderBytes;
    }
    const std::size_t here = std::min(payload_bytes_ - payload_read_, end_ - begin_);
    if (here > 0) {
      if (frame_.payload.size() < payload_read_ + here) frame_.payload.resize(payload_read_ + here);
      std::memcpy(frame_.payload.data() + payload_read_, buffer_.data() + begin_, here);
      begin_ += here;
      payload_read_ += here;
    }
    if (payload_read_ < payload_bytes_) break;
    deliver();
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  return {};
}

Status Connection::take_header(const std::byte* from) {
  Header header;
  std::copy_n(from, kHeaderBytes, header.begin());
  std::uint64_t bytes = 0;
  if (Status status = decode_header(header, frame_, bytes); !status.ok()) return status;
  if (frame_.token != token_) return {StatusCode::invalid, "a frame of another run"};
  if (bytes > largest_payload_) {
    return {StatusCode::invalid, "a frame of " + std::to_string(bytes) +
                                     " bytes, above the limit of " +
                                     std::to_string(largest_payload_)};
  }
  in_payload_ = true;
  payload_bytes_ = bytes;
  payload_read_ = 0;
  frame_.payload.reserve(std::min<std::uint64_t>(bytes, kReservedBytes));
  return {};
}

void Connection::deliver() {
  in_payload_ = false;
  frame_.payload.resize(payload_bytes_);
  Frame frame = std::exchange(frame_, {});
  delivering_ = true;
  handlers_.on_frame(std::move(frame));
  delivering_ = false;
  if (next_handlers_) handlers_ = *std::exchange(next_handlers_, std::nullopt);
}

void Connection::send(Frame frame) {
  if (!open_) return;
  writes_.push_back({encode_header(frame), std::move(frame.payload), 0});
  if (!waits_to_write_) write();
}

void Connection::send_last(Frame frame) {
  if (writes_.size() > 1) writes_.erase(writes_.begin() + 1, writes_.end());
  send(std::move(frame));
}

void Connection::write() {
  while (!writes_.empty()) {
    Write& first = writes_.front();
    const std::array<asio::const_buffer, 2> buffers = {
        asio::buffer(first.header) + first.done,
        asio::buffer(first.payload) + (std::max(first.done, kHeaderBytes) - kHeaderBytes)};
    asio::error_code error;
    const std::size_t written = socket_.write_some(buffers, error);
    if (error == asio::error::would_block || error == asio::error::try_again)
      return wait_to_write();
    // A peer that is gone is reported by the read, after what it said last.
    if (error) return writes_.clear();
    first.done += written;
    if (first.done == kHeaderBytes + first.payload.size()) writes_.pop_front();
  }
}

void Connection::wait_to_write() {
  waits_to_write_ = true;
  socket_.async_wait(UnixSocket::wait_write, [self = shared_from_this()](asio::error_code error) {
    self->waits_to_write_ = false;
    if (self->open_ && !error) self->write();
  });
}

}  // namespace ripeline::runtime
