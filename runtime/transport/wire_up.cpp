#include "runtime/transport/wire_up.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "runtime/transport/address.h"
#include "runtime/transport/listener.h"
#include "runtime/transport/readiness.h"
#include "runtime/transport/store_watch.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kRetry = 50ms;       // for a listener that is not there now
constexpr auto kLastWords = 200ms;  // for what the peers have to be told

core::Time now() { return Clock::now().time_since_epoch(); }

class WireUp {
 public:
  WireUp(asio::io_context& io, const SocketOptions& options, Roster& roster, Place& place,
         RunClock& clock, Wires& wires)
      : io_(io),
        options_(options),
        roster_(roster),
        place_(place),
        clock_(clock),
        readiness_(options.rank, options.ranks),
        wires_(wires),
        listener_(io),
        watch_(io),
        is_called_(static_cast<std::size_t>(options.ranks)),
        endings_(static_cast<std::size_t>(options.ranks)) {
    wires_.clear();
    wires_.resize(wire_of(options.ranks, Channel::data));
  }
  ~WireUp() {
    *alive_ = false;
    for (const auto& connection : pending_) connection->close();
    for (const auto& timer : timers_) timer->cancel();
  }
  WireUp(const WireUp&) = delete;
  WireUp& operator=(const WireUp&) = delete;

  Status run() {
    const Clock::time_point limit = Clock::now() + options_.connect_limit;
    listen();
    if (result_.ok()) watch_.start(roster_.watch(), [this] { look(); });
    if (result_.ok()) look();
    run_until(limit, [this] { return missing().empty(); });
    if (result_.ok() && missing().empty()) {
      // The others may have begun to wait later.
      say_ready();
      run_until(limit + kLateRanks, [this] { return readiness_.all(); });
    }
    if (result_.ok() && !readiness_.all()) {
      const std::vector<int> late = missing().empty() ? readiness_.late() : missing();
      result_ = roster_.fail_late(late, options_.connect_limit, why_missing(late));
    }
    if (!result_.ok()) say_why();
    return result_;
  }

 private:
  // A connection as its two ends know it.
  struct End {
    int rank = -1;  // the other one
    Channel channel = Channel::data;
  };

  Wire& wire(End end) { return wires_[wire_of(end.rank, end.channel)]; }
  bool has(int rank, Channel channel) const {
    return wires_[wire_of(rank, channel)].connection != nullptr;
  }
  bool has(int rank) const { return has(rank, Channel::data) && has(rank, Channel::control); }

  template <class Condition>
  std::vector<int> neighbours(const Condition& condition) const {
    std::vector<int> ranks;
    std::copy_if(options_.neighbours.begin(), options_.neighbours.end(), std::back_inserter(ranks),
                 condition);
    return ranks;
  }
  std::vector<int> missing() const {
    return neighbours([this](int rank) { return !has(rank); });
  }
  // What the system has said of those that were called; empty: nothing.
  std::string why_missing(const std::vector<int>& ranks) const {
    for (const int rank : ranks) {
      const auto it = refusals_.find(rank);
      if (it != refusals_.end()) return it->second;
    }
    return {};
  }

  template <class Condition>
  void run_until(Clock::time_point limit, const Condition& done) {
    while (result_.ok() && !done() && Clock::now() < limit) io_.run_one_until(limit);
  }

  // The first failure counts, here and among all.
  void fail_if(Status status) {
    if (!status.ok() && result_.ok()) result_ = roster_.fail(std::move(status));
  }
  // What the system refuses this process.
  void fail_here(const std::string& what, int error) {
    fail_if({StatusCode::failed, "rank " + std::to_string(options_.rank) + " cannot " + what +
                                     ": " + std::strerror(error)});
  }

  void listen() {
    const auto callers = static_cast<int>(options_.neighbours.size());
    const Status status =
        listener_.open(options_.address, kChannels * callers + 16, options_.kernel_bytes);
    if (status.ok()) return fail_if(roster_.listens_at(print_address(listener_.address())));
    fail_if({status.code(),
             "rank " + std::to_string(options_.rank) + " cannot listen at " + status.message()});
  }

  // At the store, which may have changed.
  void look() {
    if (!result_.ok()) return;
    if (Status status = roster_.look(missing()); !status.ok()) {
      result_ = std::move(status);
      return;
    }
    if (roster_.token() && !accepts_) {
      accepts_ = true;
      listener_.accept(
          [this](int descriptor) {
            const auto connection = connection_of(descriptor);
            if (connection->is_of_own_user()) await_hello(connection, {}, {});
          },
          [this](int error) { fail_here("take the connection of another rank", error); });
    }
    for (const int rank : options_.neighbours) {
      const bool is_to_call = rank < options_.rank && !is_called_[static_cast<std::size_t>(rank)];
      if (is_to_call && roster_.token() && result_.ok()) call(rank);
    }
  }

  void call(int rank) {
    std::string address;
    fail_if(roster_.address_of(rank, address));
    if (!result_.ok() || address.empty()) return;
    is_called_[static_cast<std::size_t>(rank)] = true;
    for (const Channel channel : kEachChannel) connect({rank, channel}, address);
  }

  std::shared_ptr<Connection> connection_of(int descriptor) {
    prepare_socket(descriptor, options_.kernel_bytes);
    return std::make_shared<Connection>(io_, descriptor, *roster_.token(), options_.largest_payload,
                                        place_);
  }

  template <class Action>
  void after(Clock::duration time, Action action) {
    const auto timer = std::make_shared<asio::steady_timer>(io_, time);
    timers_.push_back(timer);
    timer->async_wait([this, timer, action, alive = alive_](asio::error_code stopped) {
      if (stopped || !*alive) return;
      std::erase(timers_, timer);
      action();
    });
  }

  void connect(End end, const std::string& text) {
    if (!result_.ok()) return;
    const auto again = [this, end, text] { connect(end, text); };
    Address address;
    if (Status status = parse_address(text, address); !status.ok()) {
      return fail_if({status.code(),
                      "where rank " + std::to_string(end.rank) + " listens: " + status.message()});
    }
    const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return fail_here("open a socket", errno);
    // Over a network it goes on meanwhile: what is sent waits, and a failure closes the connection.
    if (::connect(descriptor, address.get(), address.size) != 0 && errno != EINPROGRESS) {
      const int error = errno;
      close(descriptor);
      // Not there any more, or busy: if its process has ended, the store says so. Networks come up.
      const bool may_come = error == ECONNREFUSED || error == ENOENT || error == EAGAIN ||
                            error == EINTR || error == ENETUNREACH || error == EHOSTUNREACH;
      if (!may_come) {
        return fail_here("connect to rank " + std::to_string(end.rank) + " at " + text, error);
      }
      refused(end, text, std::strerror(error));
      return after(kRetry, again);
    }
    const auto connection = connection_of(descriptor);
    if (!connection->is_of_own_user()) return after(kRetry, again);
    connection->send(frame(FrameKind::hello, end.channel));
    await_hello(connection, end, text);
  }

  void refused(End end, const std::string& address, const std::string& how) {
    refusals_[end.rank] = "rank " + std::to_string(options_.rank) + " cannot reach rank " +
                          std::to_string(end.rank) + " at " + address + ": " + how;
  }

  Frame frame(FrameKind kind, Channel channel = Channel::control) const {
    Frame frame;
    frame.kind = kind;
    frame.token = *roster_.token();
    frame.program_hash = options_.program_hash;
    frame.envelope.message = {options_.rank, options_.ranks};
    frame.envelope.ordinal = static_cast<std::int32_t>(channel);
    return frame;
  }

  // `expected` is the end that was called, at `address`; without a rank when we were.
  void await_hello(const std::shared_ptr<Connection>& connection, End expected,
                   const std::string& address) {
    pending_.push_back(connection);
    const auto timer = std::make_shared<asio::steady_timer>(io_, options_.hello_limit);
    const std::weak_ptr<Connection> weak = connection;
    const auto drop = [this, weak, expected, address](const Status& why) {
      const auto it = std::find(pending_.begin(), pending_.end(), weak.lock());
      if (it == pending_.end()) return;
      (*it)->close();
      pending_.erase(it);
      // It may have been another run's: once more, until the limit.
      if (expected.rank >= 0 && !has(expected.rank, expected.channel)) {
        refused(expected, address, why.message());
        after(kRetry, [this, expected, address] { connect(expected, address); });
      }
    };
    const Status stranger(StatusCode::invalid, "what listens there is not of this run");
    if (expected.rank >= 0) refused(expected, address, "nobody answers");
    // A rank that was called may be busy before it looks: only the limit of all ends that wait.
    if (expected.rank < 0) {
      timers_.push_back(timer);
      timer->async_wait([timer, drop, alive = alive_](asio::error_code stopped) {
        if (!stopped && *alive) drop({});
      });
    }
    connection->start({.on_frame =
                           [this, weak, expected, timer, drop, stranger](Frame&& frame) {
                             timer->cancel();
                             const auto self = weak.lock();
                             if (!greet(self, expected, frame)) drop(stranger);
                           },
                       .on_closed = [drop](const Status& why) { drop(why); }});
  }

  // False: a stranger. Who belongs to the run has compared itself with rank 0 before.
  bool greet(const std::shared_ptr<Connection>& connection, End expected, const Frame& first) {
    const int rank = first.envelope.message.edge;
    const int ranks = first.envelope.message.microbatch;
    const int channel = first.envelope.ordinal;
    if (first.kind != FrameKind::hello || rank < 0 || rank >= options_.ranks ||
        ranks != options_.ranks || channel < 0 || channel >= kChannels ||
        first.program_hash != options_.program_hash) {
      return false;
    }
    const End end{rank, static_cast<Channel>(channel)};
    const bool was_called = expected.rank < 0;
    if (!was_called && (rank != expected.rank || end.channel != expected.channel)) return false;
    if (was_called && (rank < options_.rank || !is_neighbour(rank))) return false;
    if (wire(end).connection) return false;
    if (was_called) connection->send(frame(FrameKind::hello, end.channel));
    wire(end).connection = connection;
    std::erase(pending_, connection);
    connection->hand_over({.on_frame = [this, end](Frame&& f) { take(end, std::move(f)); },
                           .on_closed = [this, end](const Status& why) { closed(end, why); }});
    say_ready();
    return true;
  }

  bool is_neighbour(int rank) const {
    return std::binary_search(options_.neighbours.begin(), options_.neighbours.end(), rank);
  }

  void say_ready() {
    if (missing().empty()) readiness_.connected();
    for (const int rank : readiness_.take_tell()) send_ready(rank);
  }
  void send_ready(int to) {
    Frame ready = frame(FrameKind::ready);
    ready.envelope = envelope_of(clock_.beat(to, now()));
    wire({to, Channel::control}).connection->send(std::move(ready));
  }

  void closed(End end, const Status& why) {
    wire(end).closed = why;
    const core::Time at = now();
    Clock::duration patience = endings_[static_cast<std::size_t>(end.rank)].lost_at(why, at) - at;
    // Where all may be connected it may be in its run already: what the others say is on its way.
    if (readiness_.may_be_all()) patience = std::max<Clock::duration>(patience, kLastWords);
    after(patience, [this, rank = end.rank, why] { lose(rank, why); });
  }

  void take(End end, Frame&& frame) {
    if (frame.kind == FrameKind::ready) {
      clock_.heard(end.rank, beat_of(frame.envelope), now());
      readiness_.told_by(end.rank);
      say_ready();
    } else {
      wire(end).early.push_back(std::move(frame));
    }
  }

  void lose(int rank, const Status& why) {
    if (!result_.ok()) return;
    for (const Channel channel : kEachChannel) {
      for (const Frame& frame : wire({rank, channel}).early) {
        if (frame.kind == FrameKind::abandon) return fail_if(abandon_status(rank, frame));
      }
    }
    fail_if({StatusCode::lost, "rank " + std::to_string(rank) +
                                   " was lost while the ranks connected (" + why.message() + ")"});
  }

  // On every connection that there is: whichever they see end first, it has said why.
  void say_why() {
    for (const Wire& wire : wires_) {
      if (!wire.connection) continue;
      wire.connection->send(abandon_frame(*roster_.token(), options_.program_hash, result_));
    }
    const auto is_flushed = [this] {
      return std::all_of(wires_.begin(), wires_.end(), [](const Wire& w) {
        return !w.connection || w.connection->queued() == 0;
      });
    };
    const Clock::time_point limit = Clock::now() + kLastWords;
    while (!is_flushed() && Clock::now() < limit) io_.run_one_until(limit);
  }

  asio::io_context& io_;
  const SocketOptions& options_;
  Roster& roster_;
  Place& place_;
  RunClock& clock_;
  Readiness readiness_;
  Wires& wires_;
  Listener listener_;
  bool accepts_ = false;
  StoreWatch watch_;
  std::vector<std::shared_ptr<Connection>> pending_;  // have not said hello
  std::vector<std::shared_ptr<asio::steady_timer>> timers_;
  std::vector<bool> is_called_;          // ranks whose address is known
  std::vector<Ending> endings_;          // by rank
  std::map<int, std::string> refusals_;  // by rank: what became of the last call
  Status result_;
  // Handlers that are queued when this ends look here first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

Status wire_up(asio::io_context& io, const SocketOptions& options, Roster& roster, Place& place,
               RunClock& clock, Wires& wires) {
  Status status = WireUp(io, options, roster, place, clock, wires).run();
  if (!status.ok()) {
    for (const Wire& wire : wires) {
      if (wire.connection) wire.connection->close();
    }
  }
  return status;
}

}  // namespace ripeline::runtime
