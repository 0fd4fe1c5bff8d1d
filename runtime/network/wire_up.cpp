#include "runtime/network/wire_up.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "runtime/network/address.h"
#include "runtime/network/introductions.h"
#include "runtime/network/listener.h"
#include "runtime/network/readiness.h"
#include "runtime/network/store_watch.h"
#include "runtime/network/timers.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLastWords = 200ms;  // the wait for last frames, from and to the peers

core::Time now() { return Clock::now().time_since_epoch(); }

class WireUp {
 public:
  WireUp(asio::io_context& io, const SocketOptions& options, Roster& roster, BufferPool& pool,
         RunClock& clock, Wires& wires)
      : io_(io),
        options_(options),
        roster_(roster),
        clock_(clock),
        readiness_(options.rank, options.ranks),
        wires_(wires),
        listener_(io),
        watch_(io),
        introductions_(
            io, options, roster, pool,
            {.is_missing =
                 [this](End end) { return is_neighbour(end.rank) && !has(end.rank, end.role); },
             .on_met =
                 [this](End end, std::shared_ptr<Connection> connection) {
                   met(end, std::move(connection));
                 },
             .on_failed = [this](Status why) { fail_if(std::move(why)); }}),
        timers_(io),
        is_called_(static_cast<std::size_t>(options.ranks)),
        endings_(static_cast<std::size_t>(options.ranks)) {
    wires_.clear();
    wires_.resize(wire_of(options.ranks, ConnectionRole::data));
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
      // The other ranks may have begun to wait later than this one, so they get more time.
      say_ready();
      run_until(limit + kLateRanks, [this] { return readiness_.all(); });
    }
    if (result_.ok() && !readiness_.all()) {
      const std::vector<int> late = missing().empty() ? readiness_.late() : missing();
      result_ = roster_.fail_late(late, options_.connect_limit, introductions_.last_call(late));
    }
    if (!result_.ok()) say_why();
    return result_;
  }

 private:
  Wire& wire(End end) { return wires_[wire_of(end.rank, end.role)]; }
  bool has(int rank, ConnectionRole role) const {
    return wires_[wire_of(rank, role)].connection != nullptr;
  }
  bool has(int rank) const {
    return has(rank, ConnectionRole::data) && has(rank, ConnectionRole::control);
  }

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
  template <class Condition>
  void run_until(Clock::time_point limit, const Condition& done) {
    while (result_.ok() && !done() && Clock::now() < limit) io_.run_one_until(limit);
  }

  // Only the first failure counts, on this rank and among all ranks.
  void fail_if(Status status) {
    if (!status.ok() && result_.ok()) result_ = roster_.fail(std::move(status));
  }
  void listen() {
    const auto callers = static_cast<int>(options_.neighbours.size());
    const Status status =
        listener_.open(options_.address, kConnectionsPerPeer * callers + 16, options_.kernel_bytes);
    if (status.ok()) return fail_if(roster_.listens_at(print_address(listener_.address())));
    fail_if({status.code(),
             "rank " + std::to_string(options_.rank) + " cannot listen at " + status.message()});
  }

  // Reads the store, which may have changed.
  void look() {
    if (!result_.ok()) return;
    if (Status status = roster_.look(missing()); !status.ok()) {
      result_ = std::move(status);
      return;
    }
    if (roster_.token() && !accepts_) {
      accepts_ = true;
      listener_.accept(
          [this](int descriptor) { introductions_.called(descriptor); },
          [this](int error) {
            fail_if(refused_by_system(options_.rank, "take the connection of another rank", error));
          });
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
    introductions_.call(rank, address);
  }

  void met(End end, std::shared_ptr<Connection> connection) {
    connection->hand_over({.on_frame = [this, end](Frame&& f) { take(end, std::move(f)); },
                           .on_closed = [this, end](const Status& why) { closed(end, why); }});
    wire(end).connection = std::move(connection);
    say_ready();
  }

  bool is_neighbour(int rank) const {
    return std::binary_search(options_.neighbours.begin(), options_.neighbours.end(), rank);
  }

  void say_ready() {
    if (missing().empty()) readiness_.connected();
    for (const int rank : readiness_.take_to_notify()) send_ready(rank);
  }
  void send_ready(int to) {
    wire({to, ConnectionRole::control})
        .connection->send(introductions_.frame(Ready{clock_.beat(to, now())}));
  }

  void closed(End end, const Status& why) {
    wire(end).closed = why;
    const core::Time at = now();
    Clock::duration patience = endings_[static_cast<std::size_t>(end.rank)].lost_at(why, at) - at;
    // If all ranks may be connected, the peer may run, and reports of others may be on their way.
    if (readiness_.may_be_all()) patience = std::max<Clock::duration>(patience, kLastWords);
    timers_.after(patience, [this, rank = end.rank, why] { lose(rank, why); });
  }

  void take(End end, Frame&& frame) {
    if (const auto* const ready = std::get_if<Ready>(&frame.content)) {
      clock_.heard(end.rank, ready->beat, now());
      readiness_.received_from(end.rank);
      say_ready();
    } else {
      wire(end).early.push_back(std::move(frame));
    }
  }

  void lose(int rank, const Status& why) {
    if (!result_.ok()) return;
    for (const ConnectionRole role : kEachRole) {
      for (const Frame& frame : wire({rank, role}).early) {
        const auto* const abandon = std::get_if<Abandon>(&frame.content);
        if (abandon == nullptr) continue;
        return fail_if(abandon_status(rank, abandon->code, frame.payload));
      }
    }
    fail_if({StatusCode::lost, "rank " + std::to_string(rank) +
                                   " was lost while the ranks connected (" + why.message() + ")"});
  }

  // Sends the reason on every connection, so that a peer gets it before it sees any of them end.
  void say_why() {
    for (const Wire& wire : wires_) {
      if (!wire.connection) continue;
      wire.connection->send(introductions_.frame(Abandon{result_.code()}, abandon_text(result_)));
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
  RunClock& clock_;
  Readiness readiness_;
  Wires& wires_;
  Listener listener_;
  bool accepts_ = false;
  StoreWatch watch_;
  Introductions introductions_;
  Timers timers_;
  std::vector<bool> is_called_;  // ranks whose address is known
  std::vector<Ending> endings_;  // by rank
  Status result_;
};

}  // namespace

Status wire_up(asio::io_context& io, const SocketOptions& options, Roster& roster, BufferPool& pool,
               RunClock& clock, Wires& wires) {
  Status status = WireUp(io, options, roster, pool, clock, wires).run();
  if (!status.ok()) {
    for (const Wire& wire : wires) {
      if (wire.connection) wire.connection->close();
    }
  }
  return status;
}

}  // namespace ripeline::runtime::network
