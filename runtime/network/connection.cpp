#include "runtime/network/connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/network/peers.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::size_t kBufferBytes = 16 << 10;
// If a piece lacks less than this, its rest is read with the bytes that follow, and copied.
constexpr std::size_t kDirectBytes = 2 << 10;
constexpr std::size_t kLongestRead = 1 << 20;  // so that a long part does not delay others

core::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

int family_of(int descriptor) {
  int family = 0;
  socklen_t size = sizeof family;
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 ? family : -1;
}

// A closed connection and a killed peer look the same; other errors of a network are reported.
Status gone(const asio::error_code& error, bool was_up) {
  const bool says_more = error != asio::error::eof && error != asio::error::connection_reset &&
                         error != asio::error::broken_pipe;
  if (!says_more) return {StatusCode::lost, "connection closed"};
  return {StatusCode::lost, (was_up ? "connection closed: " : "") + error.message()};
}

// A network may forget an idle connection, so the kernel asks the peer for an answer once a minute.
// Heartbeats notice a silent peer sooner.
void keep_up(int descriptor) {
  const auto set = [descriptor](int level, int name, int value) {
    setsockopt(descriptor, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 60);
}

}  // namespace

void prepare_socket(int descriptor, int kernel_bytes) {
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  if (family_of(descriptor) != AF_UNIX) {
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return keep_up(descriptor);
  }
  for (const auto& [force, plain] :
       {std::pair{SO_SNDBUFFORCE, SO_SNDBUF}, {SO_RCVBUFFORCE, SO_RCVBUF}}) {
    if (setsockopt(descriptor, SOL_SOCKET, force, &kernel_bytes, sizeof kernel_bytes) == 0)
      continue;
    setsockopt(descriptor, SOL_SOCKET, plain, &kernel_bytes,
               sizeof kernel_bytes);  // up to the system's limit
  }
}

Connection::Connection(asio::io_context& io, int descriptor, std::uint64_t token,
                       std::uint64_t largest_payload, BufferPool& pool)
    : socket_(io, asio::generic::stream_protocol(family_of(descriptor), 0), descriptor),
      token_(token),
      largest_payload_(largest_payload),
      pool_(pool),
      buffer_(kBufferBytes),
      heard_(now()),
      descriptor_(descriptor) {
  asio::error_code ignored;
  socket_.non_blocking(true, ignored);
}

bool Connection::is_of_own_user() const {
  if (family_of(descriptor_) != AF_UNIX) return true;
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

void Connection::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  read();
}

void Connection::hand_over(Handlers handlers) {
  if (delivering_) {
    next_handlers_ = std::move(handlers);  // since a handler is running
  } else {
    handlers_ = std::move(handlers);
  }
}

void Connection::close() {
  open_ = false;
  const std::lock_guard lock(mutex_);
  descriptor_ = -1;
  writes_.clear();
  queued_ = 0;
  asio::error_code ignored;
  socket_.close(ignored);
}

void Connection::close_in_child() const {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Connection::closed(const Status& why) {
  if (!open_) return;
  close();
  handlers_.on_closed(why);
}

void Connection::read() {
  asio::mutable_buffer to = asio::buffer(buffer_) + end_;
  if (missing_ >= kDirectBytes) to = asio::buffer(to_, std::min(missing_, kLongestRead));
  socket_.async_read_some(to, [self = shared_from_this()](asio::error_code error, std::size_t n) {
    if (!self->open_) return;
    if (error)
      return self->closed(gone(self->write_error_ ? self->write_error_ : error, self->was_up_));
    self->received(n);
  });
}

void Connection::received(std::size_t bytes) {
  heard_ = now();
  was_up_ = true;
  if (missing_ >= kDirectBytes) {
    to_ += bytes;
    missing_ -= bytes;
  } else {
    end_ += bytes;
  }
  if (const Status status = take_bytes(); !status.ok()) return closed(status);
  if (open_) read();
}

Status Connection::take_bytes() {
  while (open_) {
    if (reading_ == Reading::header) {
      const std::span<const std::byte> here(buffer_.data() + begin_, end_ - begin_);
      if (here.size() < kHeaderBytes) {
        if (here.size() < kPrefixBytes) break;
        if (Status status = check_prefix(here.first<kPrefixBytes>()); !status.ok()) return status;
        break;
      }
      begin_ += kHeaderBytes;
      if (Status status = take_header(here.data()); !status.ok()) return status;
    }
    const std::size_t here = std::min(missing_, end_ - begin_);
    if (here > 0) {
      std::memcpy(to_, buffer_.data() + begin_, here);
      begin_ += here;
      to_ += here;
      missing_ -= here;
    }
    if (missing_ > 0) break;
    if (Status status = next_piece(); !status.ok()) return status;
    if (reading_ == Reading::header) deliver();
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  return {};
}

void Connection::expect(Reading what, std::byte* to, std::size_t bytes) {
  reading_ = what;
  to_ = to;
  missing_ = bytes;
}

Status Connection::take_header(const std::byte* from) {
  Header header;
  std::copy_n(from, kHeaderBytes, header.begin());
  PayloadShape shape;
  if (Status status = decode_header(header, frame_, shape); !status.ok()) return status;
  if (frame_.token != token_) return {StatusCode::invalid, "a frame of another run"};
  frame_.payload.head.resize(shape.head);
  size_bytes_.resize(shape.parts * sizeof(std::uint64_t));
  expect(Reading::sizes, size_bytes_.data(), size_bytes_.size());
  return {};
}

Status Connection::next_piece() {
  if (reading_ == Reading::sizes) {
    sizes_ = decode_sizes(size_bytes_);
    std::uint64_t bytes = 0;
    for (const std::uint64_t size : sizes_) {
      bytes = size > largest_payload_ - bytes ? largest_payload_ + 1 : bytes + size;
      if (bytes > largest_payload_) return over_limit(largest_payload_);
    }
    expect(Reading::head, frame_.payload.head.data(), frame_.payload.head.size());
    return {};
  }
  if (frame_.payload.parts.size() < sizes_.size()) return take_part();
  expect(Reading::header, nullptr, 0);
  return {};
}

Status Connection::take_part() {
  const std::size_t size = sizes_[frame_.payload.parts.size()];
  Status status = add_part(pool_, edge_of(frame_.content), size, frame_.payload);
  if (!status.ok()) return status;
  const Bytes& part = frame_.payload.parts.back();
  expect(Reading::part, part.data, part.size);
  return {};
}

void Connection::deliver() {
  Frame frame = std::exchange(frame_, {});
  delivering_ = true;
  handlers_.on_frame(std::move(frame));
  delivering_ = false;
  if (next_handlers_) handlers_ = *std::exchange(next_handlers_, std::nullopt);
}

void Connection::send(Frame frame) {
  if (!open_) return;
  const std::lock_guard lock(mutex_);
  Write& last = writes_.emplace_back();
  last.header = encode_header(frame);
  last.sizes = encode_sizes(frame.payload);
  last.payload = std::move(frame.payload);
  last.bytes = kHeaderBytes + last.sizes.size() + last.payload.size();
  queued_ += last.bytes;
  if (!waits_to_write_) write();
}

void Connection::pulse(const Header& frame) {
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0) return;
  if (writes_.empty()) {
    Write& pulse = writes_.emplace_back();
    pulse.header = frame;
    pulse.bytes = kHeaderBytes;
    queued_ += pulse.bytes;
  }
  // Frames that wait are left to the owner's thread. A partly written pulse is completed here.
  Write& first = writes_.front();
  if (writes_.size() > 1 || first.bytes > kHeaderBytes || waits_to_write_) return;
  const ssize_t n = ::send(descriptor_, first.header.data() + first.done, first.bytes - first.done,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
  const std::size_t written = n > 0 ? static_cast<std::size_t>(n) : 0;
  first.done += written;
  queued_ -= written;
  if (first.done > 0 && first.done < first.bytes) return;
  queued_ -= first.bytes - first.done;
  writes_.pop_front();
}

std::size_t Connection::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

void Connection::write() {
  while (!writes_.empty()) {
    Write& first = writes_.front();
    pieces_.clear();
    std::size_t skip = first.done;
    const auto add = [&](const std::byte* data, std::size_t size) {
      const std::size_t skipped = std::min(skip, size);
      skip -= skipped;
      if (size > skipped) pieces_.emplace_back(data + skipped, size - skipped);
    };
    add(first.header.data(), first.header.size());
    add(first.sizes.data(), first.sizes.size());
    add(first.payload.head.data(), first.payload.head.size());
    for (const Bytes& part : first.payload.parts) add(part.data, part.size);
    asio::error_code error;
    const std::size_t written = socket_.write_some(pieces_, error);
    if (error == asio::error::would_block || error == asio::error::try_again)
      return wait_to_write();
    // The loss of a peer is reported by the read, after the peer's last frames.
    if (error) {
      write_error_ = error;  // the read would not get this error again
      queued_ = 0;
      return writes_.clear();
    }
    first.done += written;
    queued_ -= written;
    if (first.done == first.bytes) writes_.pop_front();
  }
}

void Connection::wait_to_write() {
  waits_to_write_ = true;
  socket_.async_wait(socket_.wait_write, [self = shared_from_this()](asio::error_code error) {
    const std::lock_guard lock(self->mutex_);
    self->waits_to_write_ = false;
    if (self->open_ && !error) self->write();
  });
}

}  // namespace ripeline::runtime::network
