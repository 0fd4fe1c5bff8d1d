#include "runtime/network/socket.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/duration.h"
#include "runtime/network/folder_store.h"
#include "runtime/network/peers.h"
#include "runtime/network/roster.h"
#include "runtime/network/run_clock.h"
#include "runtime/network/wire_up.h"
#include "runtime/protocol/neighbours.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;

constexpr auto kShortWait = std::chrono::milliseconds(20);
constexpr auto kLongestWait = std::chrono::hours(24);

// A thread that reports at intervals that the process is alive, whatever its rank computes.
class Pulse {
 public:
  Pulse(std::chrono::nanoseconds interval, std::function<void()> beat)
      : interval_(interval), beat_(std::move(beat)), thread_([this] { run(); }) {}
  ~Pulse() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, interval_, [this] { return stop_; })) beat_();
  }

  std::chrono::nanoseconds interval_;
  std::function<void()> beat_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;  // guarded by the mutex
  std::thread thread_;
};

class SocketTransport final : public Transport {
 public:
  SocketTransport(SocketOptions options, BufferPool* pool)
      : options_(std::move(options)),
        pool_(pool == nullptr ? own_pool_ : *pool),
        io_(1),
        work_(io_.get_executor()),
        timer_(io_),
        watched_(io_),
        peers_(static_cast<std::size_t>(options_.ranks)),
        clock_(options_.rank, options_.ranks) {}

  ~SocketTransport() override {
    pulse_.reset();
    for (const Wire& wire : wires_) {
      if (wire.connection) wire.connection->close();
    }
  }

  // Keeps the roster until the end, since the roster owns the claim of this rank.
  Status connect(std::unique_ptr<Roster>& roster) {
    Status status = wire_up(io_, options_, *roster, pool_, clock_, wires_);
    if (!status.ok()) return status;
    token_ = *roster->token();
    for (const int rank : neighbours()) {
      for (const ConnectionRole role : kEachRole) {
        Wire& wire = wires_[wire_of(rank, role)];
        wire.connection->hand_over(
            {.on_frame = [this, rank](Frame&& f) { take(rank, std::move(f)); },
             .on_closed = [this, rank](const Status& why) { closed(rank, why); }});
        for (Frame& frame : wire.early) take(rank, std::move(frame));
        wire.early.clear();
        if (!wire.closed.ok()) closed(rank, wire.closed);
      }
    }
    if (!neighbours().empty()) {
      pulse_ = std::make_unique<Pulse>(options_.heartbeat, [this] { beat(); });
    }
    roster->started();
    roster_ = std::move(roster);
    return {};
  }

  int self() const override { return options_.rank; }
  int processes() const override { return options_.ranks; }
  const std::vector<int>& neighbours() const override { return options_.neighbours; }

  Status send(int to, const Envelope& envelope, Payload payload) override {
    if (Status s = check_receiver(*this, to); !s.ok()) return s;
    if (Status s = check_on_host(payload); !s.ok()) return s;
    Frame out = frame(Envelope{.signal = envelope.signal, .sent = envelope.sent - clock_.ahead()},
                      std::move(payload));
    connection(to, role_of(kind_of(out.content))).send(std::move(out));
    return {};
  }

  Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override {
    watch_on();
    io_.poll();
    lose_halves();
    if (inbox_.empty() && !woken_ && !readable_ && wait.count() > 0) {
      looks_.waits = true;
      run_for(wait, [this] { return !inbox_.empty() || woken_ || readable_; });
      looks_.waits = false;
    }
    woken_ = false;
    readable_ = false;
    looks_.last = now();
    std::move(inbox_.begin(), inbox_.end(), std::back_inserter(deliveries));
    inbox_.clear();
    return {};
  }

  void wake() override {
    asio::post(io_, [this] { woken_ = true; });
  }

  Status watch(int descriptor) override {
    const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // watched_ closes the copy
    asio::error_code error;
    if (own >= 0) watched_.assign(own, error);
    if (own >= 0 && !error) return {};
    return {StatusCode::failed, "descriptor " + std::to_string(descriptor) + " cannot be watched"};
  }

  std::size_t queued(int to) const override {
    std::size_t bytes = 0;
    for (const ConnectionRole role : kEachRole) {
      if (const auto& c = wires_[wire_of(to, role)].connection) bytes += c->queued();
    }
    return bytes;
  }

  core::Time heard(int from) const override {
    if (peers_[static_cast<std::size_t>(from)].goodbyes == kConnectionsPerPeer) return now();
    core::Time last{0};
    for (const ConnectionRole role : kEachRole) {
      const auto& connection = wires_[wire_of(from, role)].connection;
      if (connection) last = std::max(last, connection->heard());
    }
    return last;
  }

  core::Time ahead() const override { return clock_.ahead(); }

  Status finish(std::chrono::nanoseconds limit) override {
    for (const int rank : neighbours()) {
      for (const ConnectionRole role : kEachRole) {
        if (!finishing_) connection(rank, role).send(frame(Goodbye{}));
      }
    }
    finishing_ = true;
    const auto missing = [&] {
      return first_rank(
          [&](int r) { return peer(r).goodbyes < kConnectionsPerPeer || queued(r) > 0; });
    };
    const auto lost = [&] { return first_rank([&](int r) { return !peer(r).loss.empty(); }); };
    watch_on();
    run_for(limit,
            [&] { return missing() < 0 || lost() >= 0 || !inbox_.empty() || woken_ || readable_; });
    readable_ = false;
    if (missing() < 0) return {};
    if (const int rank = lost(); rank >= 0) {
      return {StatusCode::lost,
              "rank " + std::to_string(rank) + " was lost (" + peer(rank).loss + ")"};
    }
    return {StatusCode::timeout, "rank " + std::to_string(missing()) + " has not finished"};
  }

  void close_in_child() override {
    for (const Wire& wire : wires_) {
      if (wire.connection) wire.connection->close_in_child();
    }
  }

  void flush(std::chrono::nanoseconds limit) override {
    run_for(limit, [this] {
      return first_rank(
                 [this](int r) { return connection(r, ConnectionRole::control).queued() > 0; }) < 0;
    });
  }

 private:
  struct Peer {
    int goodbyes = 0;  // the connections on which the peer said goodbye
    Ending ending;
    core::Time lost_at = core::Time::max();  // unless the second connection ends before
    std::string how;                         // how the first connection ended
    std::string loss;                        // why the peer is lost; empty if it is not lost
  };

  static core::Time now() { return Clock::now().time_since_epoch(); }
  Connection& connection(int rank, ConnectionRole role) {
    return *wires_[wire_of(rank, role)].connection;
  }
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  Frame frame(FrameContent content, Payload payload = {}) const {
    return {.token = token_,
            .program_hash = options_.program_hash,
            .content = content,
            .payload = std::move(payload)};
  }

  // The first neighbour that meets the condition; -1 if none does.
  template <class Condition>
  int first_rank(const Condition& condition) {
    const auto it = std::find_if(neighbours().begin(), neighbours().end(), condition);
    return it == neighbours().end() ? -1 : *it;
  }

  // Called in the thread of the pulse.
  void beat() {
    for (const int rank : neighbours()) {
      connection(rank, ConnectionRole::control)
          .pulse(encode_header(frame(Heartbeat{clock_.beat(rank, now())})));
    }
  }

  // The io_context rounds its waits up to milliseconds, so a timer ends short waits in time.
  template <class Condition>
  void run_for(std::chrono::nanoseconds wait, const Condition& condition) {
    if (condition()) return;
    const Clock::time_point limit =
        Clock::now() + std::min<std::chrono::nanoseconds>(wait, kLongestWait);
    const bool is_short = wait < kShortWait;
    if (is_short) {
      timer_.expires_at(limit);
      timer_.async_wait([](asio::error_code) {});
    }
    do {
      io_.run_one_until(std::min(limit, Clock::time_point(next_loss_)));
      lose_halves();
    } while (!condition() && Clock::now() < limit);
    if (is_short) timer_.cancel();
  }

  void watch_on() {
    if (is_watching_ || !watched_.is_open()) return;
    is_watching_ = true;
    watched_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
      is_watching_ = false;
      readable_ = !error;
    });
  }

  void take(int from, Frame&& frame) {
    if (auto* const envelope = std::get_if<Envelope>(&frame.content)) {
      envelope->sent = to_own(envelope->sent, clock_.ahead());
      inbox_.push_back(
          {from, *envelope, std::move(frame.payload), looks_.came(envelope->sent, now())});
    } else if (std::holds_alternative<Goodbye>(frame.content)) {
      ++peer(from).goodbyes;
    } else if (const auto* const abandon = std::get_if<Abandon>(&frame.content)) {
      lose(from, abandon_status(from, abandon->code, frame.payload).message());
    } else if (const auto* const heartbeat = std::get_if<Heartbeat>(&frame.content)) {
      clock_.heard(from, heartbeat->beat, now());
    } else {
      lose(from, "it said hello twice");
    }
  }

  void closed(int rank, const Status& why) {
    Peer& p = peer(rank);
    p.lost_at = p.ending.lost_at(why, now());
    p.how = why.message();
    next_loss_ = std::min(next_loss_, p.lost_at);
    if (p.lost_at <= now()) lose(rank, p.how);
  }

  // Treats a peer as lost that has had only one connection for too long. Never called from a
  // handler, so that bytes that arrived over that connection are read first.
  void lose_halves() {
    if (now() < next_loss_) return;
    io_.poll();
    next_loss_ = core::Time::max();
    for (const int rank : neighbours()) {
      const Peer& p = peer(rank);
      if (p.lost_at <= now()) lose(rank, p.how);
      next_loss_ = std::min(next_loss_, p.lost_at);
    }
  }

  void lose(int rank, const std::string& how) {
    Peer& p = peer(rank);
    p.lost_at = core::Time::max();
    if (!p.loss.empty()) return;
    // After the peer's goodbye a closed connection is no loss, even if this rank is not done yet.
    if (p.goodbyes == kConnectionsPerPeer) return;
    p.loss = how;
    for (const ConnectionRole role : kEachRole) connection(rank, role).close();
    inbox_.push_back(loss_of(rank, how, now()));
  }

  SocketOptions options_;
  std::unique_ptr<Roster> roster_;
  std::uint64_t token_ = 0;
  HostBufferPool own_pool_;
  BufferPool& pool_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer timer_;
  asio::posix::stream_descriptor watched_;
  bool is_watching_ = false;
  bool readable_ = false;  // the watched descriptor is readable
  Wires wires_;
  std::vector<Peer> peers_;
  core::Time next_loss_ = core::Time::max();  // the earliest lost_at of all peers
  RunClock clock_;
  std::vector<Delivery> inbox_;
  Looks looks_;
  bool woken_ = false;
  bool finishing_ = false;
  std::unique_ptr<Pulse> pulse_;
};

// Fills in all neighbours, in order. Refuses neighbours that do not exist.
Status complete(SocketOptions& options) {
  const int ranks = options.ranks;
  if (ranks < 1 || options.rank < 0 || options.rank >= ranks) {
    return {StatusCode::invalid,
            "rank " + std::to_string(options.rank) + " of " + std::to_string(ranks) + " ranks"};
  }
  std::vector<int>& all = options.neighbours;
  const bool is_with_all = all.empty();
  for (int rank = 0; rank < ranks && is_with_all; ++rank) {
    if (rank != options.rank) all.push_back(rank);
  }
  all = protocol::united(std::move(all), protocol::tree_neighbours(options.rank, ranks));
  const bool is_wrong = std::any_of(all.begin(), all.end(), [&](int rank) {
    return rank < 0 || rank >= ranks || rank == options.rank;
  });
  if (!is_wrong) return {};
  return {StatusCode::invalid, "rank " + std::to_string(options.rank) + " of " +
                                   std::to_string(ranks) + " has neighbours that there are not"};
}

}  // namespace

Status connect_sockets(SocketOptions options, std::shared_ptr<Store> store,
                       std::unique_ptr<Transport>& transport, BufferPool* pool) {
  if (Status status = complete(options); !status.ok()) return status;
  auto roster = std::make_unique<Roster>(std::move(store), options);
  if (Status status = roster->join(); !status.ok()) return roster->fail(std::move(status));
  // Declared outside `try`, since its connections must exist while the others are told of an error.
  std::unique_ptr<SocketTransport> result;
  try {
    result = std::make_unique<SocketTransport>(options, pool);
    if (Status status = result->connect(roster); !status.ok()) return status;
    transport = std::move(result);
    return {};
  } catch (const std::exception& error) {  // descriptors, memory or threads ran out
    return roster->fail({StatusCode::failed, "rank " + std::to_string(options.rank) +
                                                 " cannot connect: " + error.what()});
  }
}

Status connect_in_folder(SocketOptions options, const std::string& folder,
                         std::unique_ptr<Transport>& transport, BufferPool* pool) {
  std::unique_ptr<FolderStore> store;
  if (Status status = FolderStore::open(folder, store); !status.ok()) {
    return {status.code(),
            "rank " + std::to_string(options.rank) + " cannot join the run: " + status.message()};
  }
  options.address = "unix:" + folder + "/socket-" + std::to_string(options.rank);
  return connect_sockets(std::move(options), std::move(store), transport, pool);
}

}  // namespace ripeline::runtime::network
