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

constexpr auto kRetry = std::chrono::milliseconds(50);  // for a listener that is not there now

// Not there any more, or busy: if its process has ended, the store says so. Networks come up.
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
                             const Roster& roster, Place& place, Handlers handlers)
    : io_(io),
      options_(options),
      roster_(roster),
      place_(place),
      handlers_(std::move(handlers)),
      timers_(io) {}

Introductions::~Introductions() {
  for (const auto& connection : pending_) connection->close();
}

void Introductions::call(int rank, const std::string& address) {
  for (const Channel channel : kEachChannel) connect({rank, channel}, address);
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

Frame Introductions::hello(Channel channel) const {
  return frame(Hello{.rank = options_.rank,
                     .ranks = options_.ranks,
                     .channel = static_cast<std::int32_t>(channel)});
}

std::shared_ptr<Connection> Introductions::connection_of(int descriptor) {
  prepare_socket(descriptor, options_.kernel_bytes);
  return std::make_shared<Connection>(io_, descriptor, *roster_.token(), options_.largest_payload,
                                      place_);
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
  // Over a network it goes on meanwhile: what is sent waits, and a failure closes the connection.
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
  connection->send(hello(end.channel));
  await_hello(connection, end, text);
}

void Introductions::call_again(End end, const std::string& address) {
  timers_.after(kRetry, [this, end, address] { connect(end, address); });
}

// `expected` is the end that was called, at `address`; without a rank when we were.
void Introductions::await_hello(const std::shared_ptr<Connection>& connection, End expected,
                                const std::string& address) {
  pending_.push_back(connection);
  const std::weak_ptr<Connection> weak = connection;
  // A rank that was called may be busy before it looks: only the limit of all ends that wait.
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

// Unless it has been met.
void Introductions::drop(const std::weak_ptr<Connection>& connection, End expected,
                         const std::string& address, const std::string& why) {
  const auto it = std::find(pending_.begin(), pending_.end(), connection.lock());
  if (it == pending_.end()) return;
  (*it)->close();
  pending_.erase(it);
  // It may have been another run's: once more, until the limit.
  if (expected.rank < 0 || !handlers_.is_missing(expected)) return;
  note(expected, address, why);
  call_again(expected, address);
}

// A process of the run has compared itself with rank 0 before: one that differs is a stranger.
bool Introductions::greet(const std::shared_ptr<Connection>& connection, End expected,
                          const Frame& first) {
  const auto* const said = std::get_if<Hello>(&first.content);
  if (said == nullptr || first.program_hash != options_.program_hash) return false;
  const auto& [rank, ranks, channel] = *said;
  if (rank < 0 || rank >= options_.ranks || ranks != options_.ranks || channel < 0 ||
      channel >= kChannels) {
    return false;
  }
  const End end{rank, static_cast<Channel>(channel)};
  const bool was_called = expected.rank < 0;
  if (!was_called && (rank != expected.rank || end.channel != expected.channel)) return false;
  if (was_called && rank < options_.rank) return false;
  if (!handlers_.is_missing(end)) return false;
  if (was_called) connection->send(hello(end.channel));
  std::erase(pending_, connection);
  handlers_.on_met(end, connection);
  return true;
}

void Introductions::note(End end, const std::string& address, const std::string& how) {
  calls_[end.rank] = "rank " + std::to_string(options_.rank) + " cannot reach rank " +
                     std::to_string(end.rank) + " at " + address + ": " + how;
}

}  // namespace ripeline::runtime::network
