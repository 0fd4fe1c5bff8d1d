#include "runtime/network/introductions.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/network/address.h"

namespace ripeline::runtime::network {

using core::Status;
using core::StatusCode;

namespace {

constexpr auto kRetry = std::chrono::milliseconds(50);  // before another call to a missing listener

// True if a later call may succeed: the listener is missing or busy, or a network is not up.
bool may_come(int error) {
  return error == ECONNREFUSED || error == ENOENT || error == EAGAIN || error == EINTR ||
         error == ENETUNREACH || error == EHOSTUNREACH;
}

}  // namespace

Status refused_by_system(int rank, const std::string& what, int error) {
  return {StatusCode::failed,
          "rank " + std::to_string(rank) + " cannot " + what + ": " + std::strerror(error)};
}

Introductions::Introductions(asio::io_context& io, const SocketOptions& options,
                             const Roster& roster, BufferPool& pool, Handlers handlers)
    : io_(io),
      options_(options),
      roster_(roster),
      pool_(pool),
      handlers_(std::move(handlers)),
      timers_(io) {}

Introductions::~Introductions() {
  for (const auto& connection : pending_) connection->close();
}

void Introductions::call(int rank, const std::string& address) {
  for (const ConnectionRole role : kEachRole) connect({rank, role}, address);
}

void Introductions::called(int descriptor) {
  const auto connection = connection_of(descriptor);
  if (connection->is_of_own_user()) await_hello(connection, {}, {});
}

std::string Introductions::last_call(const std::vector<int>& ranks) const {
  for (const int rank : ranks) {
    const auto it = calls_.find(rank);
    if (it != calls_.end()) return it->second;
  }
  return {};
}

Frame Introductions::frame(FrameContent content, Payload payload) const {
  return {.token = *roster_.token(),
          .program_hash = options_.program_hash,
          .content = content,
          .payload = std::move(payload)};
}

Frame Introductions::hello(ConnectionRole role) const {
  return frame(Hello{
      .rank = options_.rank, .ranks = options_.ranks, .role = static_cast<std::int32_t>(role)});
}

std::shared_ptr<Connection> Introductions::connection_of(int descriptor) {
  prepare_socket(descriptor, options_.kernel_bytes);
  return std::make_shared<Connection>(io_, descriptor, *roster_.token(), options_.largest_payload,
                                      pool_);
}

void Introductions::connect(End end, const std::string& text) {
  Address address;
  if (Status status = parse_address(text, address); !status.ok()) {
    return handlers_.on_failed({status.code(), "where rank " + std::to_string(end.rank) +
                                                   " listens: " + status.message()});
  }
  const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    return handlers_.on_failed(refused_by_system(options_.rank, "open a socket", errno));
  }
  // Over a network this connects in the background: frames wait, and a failure ends the connection.
  if (::connect(descriptor, address.get(), address.size) != 0 && errno != EINPROGRESS) {
    const int error = errno;
    close(descriptor);
    if (!may_come(error)) {
      return handlers_.on_failed(refused_by_system(
          options_.rank, "connect to rank " + std::to_string(end.rank) + " at " + text, error));
    }
    note(end, text, std::strerror(error));
    return call_again(end, text);
  }
  const auto connection = connection_of(descriptor);
  if (!connection->is_of_own_user()) return call_again(end, text);
  connection->send(hello(end.role));
  await_hello(connection, end, text);
}

void Introductions::call_again(End end, const std::string& address) {
  timers_.after(kRetry, [this, end, address] { connect(end, address); });
}

// `expected` is the end that this rank called at `address`; it has no rank if the peer called.
void Introductions::await_hello(const std::shared_ptr<Connection>& connection, End expected,
                                const std::string& address) {
  pending_.push_back(connection);
  const std::weak_ptr<Connection> weak = connection;
  // A rank that was called may be busy before it answers, so only connect_limit ends the wait.
  if (expected.rank >= 0) {
    note(expected, address, "nobody answers");
  } else {
    timers_.after(options_.hello_limit,
                  [this, weak, expected, address] { drop(weak, expected, address, ""); });
  }
  connection->start(
      {.on_frame =
           [this, weak, expected, address](Frame&& frame) {
             if (greet(weak.lock(), expected, frame)) return;
             drop(weak, expected, address, "what listens there is not of this run");
           },
       .on_closed = [this, weak, expected, address](
                        const Status& why) { drop(weak, expected, address, why.message()); }});
}

// Closes a connection that is not complete. If this rank made the call, it calls again.
void Introductions::drop(const std::weak_ptr<Connection>& connection, End expected,
                         const std::string& address, const std::string& why) {
  const auto it = std::find(pending_.begin(), pending_.end(), connection.lock());
  if (it == pending_.end()) return;
  (*it)->close();
  pending_.erase(it);
  // The listener may have belonged to another run, so this rank calls again until connect_limit.
  if (expected.rank < 0 || !handlers_.is_missing(expected)) return;
  note(expected, address, why);
  call_again(expected, address);
}

// All processes of the run have compared themselves with rank 0, so one that differs is a stranger.
bool Introductions::greet(const std::shared_ptr<Connection>& connection, End expected,
                          const Frame& first) {
  const auto* const greeting = std::get_if<Hello>(&first.content);
  if (greeting == nullptr || first.program_hash != options_.program_hash) return false;
  const auto& [rank, ranks, role] = *greeting;
  if (rank < 0 || rank >= options_.ranks || ranks != options_.ranks || role < 0 ||
      role >= kConnectionsPerPeer) {
    return false;
  }
  const End end{rank, static_cast<ConnectionRole>(role)};
  const bool was_called = expected.rank < 0;
  if (!was_called && (rank != expected.rank || end.role != expected.role)) return false;
  if (was_called && rank < options_.rank) return false;
  if (!handlers_.is_missing(end)) return false;
  if (was_called) connection->send(hello(end.role));
  std::erase(pending_, connection);
  handlers_.on_met(end, connection);
  return true;
}

void Introductions::note(End end, const std::string& address, const std::string& how) {
  calls_[end.rank] = "rank " + std::to_string(options_.rank) + " cannot reach rank " +
                     std::to_string(end.rank) + " at " + address + ": " + how;
}

}  // namespace ripeline::runtime::network
