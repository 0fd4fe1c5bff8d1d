#include "runtime/transport/socket.h"

#include <unistd.h>

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "runtime/duration.h"
#include "runtime/transport/wire_up.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;

constexpr auto kLastWords = std::chrono::milliseconds(300);
constexpr auto kShortWait = std::chrono::milliseconds(20);
constexpr auto kLongestWait = std::chrono::hours(24);

FrameKind kind_of(Signal signal) {
  switch (signal) {
    case Signal::data:
      return FrameKind::data;
    case Signal::announce:
      return FrameKind::announce;
    case Signal::grant:
      return FrameKind::grant;
    case Signal::notice:
      return FrameKind::notice;
  }
  return FrameKind::data;
}

class SocketTransport final : public Transport {
 public:
  explicit SocketTransport(const SocketOptions& options)
      : options_(options),
        io_(1),
        work_(io_.get_executor()),
        timer_(io_),
        peers_(static_cast<std::size_t>(options.ranks)) {}

  ~SocketTransport() override {
    for (const auto& connection : connections_) {
      if (connection) connection->close();
    }
    rmdir(options_.folder.c_str());  // the last one succeeds, unless the launcher made it
  }

  Status connect() {
    std::vector<std::deque<Frame>> early;
    if (Status status = wire_up(io_, options_, connections_, early); !status.ok()) return status;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (rank == options_.rank) continue;
      connection(rank).hand_over(
          {.on_frame = [this, rank](Frame&& f) { take(rank, std::move(f)); },
           .on_closed = [this, rank](const Status& why) { lose(rank, why); }});
      for (Frame& frame : early[static_cast<std::size_t>(rank)]) take(rank, std::move(frame));
    }
    return {};
  }

  int rank() const override { return options_.rank; }
  int ranks() const override { return options_.ranks; }

  Status send(int to_rank, const Envelope& envelope, Payload payload) override {
    if (!failure_.ok()) return failure_;
    if (to_rank < 0 || to_rank >= ranks() || to_rank == rank()) {
      return {StatusCode::invalid,
              "rank " + std::to_string(rank()) + " cannot send to rank " + std::to_string(to_rank)};
    }
    connection(to_rank).send(frame(kind_of(envelope.signal), envelope, std::move(payload)));
    return {};
  }

  Status poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) override {
    if (!failure_.ok()) return failure_;
    if (inbox_.empty() && wait.count() > 0) {
      io_.poll();
      waits_ = true;
      run_for(wait, [this] { return !inbox_.empty() || loss_seen_; });
      waits_ = false;
    } else {
      io_.poll();
    }
    if (loss_seen_) io_.poll();  // others may say why
    looked_ = Clock::now().time_since_epoch();
    if (inbox_.empty()) return failure_ = loss();
    std::move(inbox_.begin(), inbox_.end(), std::back_inserter(deliveries));
    inbox_.clear();
    return {};
  }

  Status all_gather(const Payload& mine, std::chrono::nanoseconds limit,
                    std::vector<Payload>& all) override {
    if (!failure_.ok()) return failure_;
    const std::int64_t call = calls_++;
    to_all(frame(FrameKind::gather, {.step = call, .message = {}, .sent = core::Time{0}}, mine));
    gathers_[{call, rank()}] = mine;
    const auto missing = [&] {
      return first_rank([&](int r) { return !gathers_.contains({call, r}); });
    };
    run_for(limit, [&] { return missing() < 0 || loss_seen_; });
    if (missing() >= 0) {
      failure_ = loss();
      if (failure_.ok()) failure_ = silence(limit, missing());
      return failure_;
    }
    all.clear();
    for (int r = 0; r < ranks(); ++r)
      all.push_back(std::move(gathers_.extract({call, r}).mapped()));
    return {};
  }

  Status finish(std::chrono::nanoseconds limit) override {
    if (!failure_.ok()) return failure_;
    finishing_ = true;
    to_all(frame(FrameKind::goodbye, {}, {}));
    const auto missing = [&] {
      return first_rank(
          [&](int r) { return r != rank() && !(peer(r).goodbye && connection(r).flushed()); });
    };
    run_for(limit, [&] { return missing() < 0 || loss_seen_; });
    if (missing() < 0) return {};
    failure_ = loss();
    if (failure_.ok()) failure_ = silence(limit, missing());
    return failure_;
  }

  void abandon(const Status& why) override {
    if (abandoned_) return;
    abandoned_ = true;
    if (failure_.ok()) failure_ = why;
    for (int r = 0; r < ranks(); ++r) {
      if (r != rank())
        connection(r).send_last(abandon_frame(options_.token, options_.program_hash, why));
    }
    run_for(kLastWords, [this] {
      return first_rank([this](int r) { return r != rank() && !connection(r).flushed(); }) < 0;
    });
  }

 private:
  struct Peer {
    bool goodbye = false;
    bool told = false;  // it has said why it stops
    Status loss;        // it is gone, and was not to be
  };

  Connection& connection(int rank) { return *connections_[static_cast<std::size_t>(rank)]; }
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  Frame frame(FrameKind kind, const Envelope& envelope, Payload payload) const {
    return {.kind = kind,
            .token = options_.token,
            .program_hash = options_.program_hash,
            .envelope = envelope,
            .payload = std::move(payload)};
  }

  void to_all(const Frame& frame) {
    for (int r = 0; r < ranks(); ++r) {
      if (r != rank()) connection(r).send(frame);
    }
  }

  template <class Condition>
  int first_rank(const Condition& condition) {
    for (int r = 0; r < ranks(); ++r) {
      if (condition(r)) return r;
    }
    return -1;
  }

  // The io_context rounds its waits up to milliseconds: a timer ends the short ones in time.
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
      io_.run_one_until(limit);
    } while (!condition() && Clock::now() < limit);
    if (is_short) timer_.cancel();
  }

  void take(int from, Frame&& frame) {
    switch (frame.kind) {
      case FrameKind::data:
      case FrameKind::announce:
      case FrameKind::grant:
      case FrameKind::notice:
        inbox_.push_back({frame.envelope, std::move(frame.payload), came(frame.envelope.sent)});
        return;
      case FrameKind::gather:
        gathers_[{frame.envelope.step, from}] = std::move(frame.payload);
        return;
      case FrameKind::goodbye:
        peer(from).goodbye = true;
        return;
      case FrameKind::abandon:
        peer(from).told = true;
        peer(from).loss = abandon_status(from, frame);
        loss_seen_ = true;
        return;
      case FrameKind::hello:
        connection(from).close();
        lose(from, {StatusCode::invalid, "it said hello twice"});
        return;
    }
  }

  // While the rank waits here, a frame comes when it is read. Else it came since the last look, and
  // the peer's clock, which is that of this host, says when it left.
  core::Time came(core::Time sent) const {
    const core::Time now = Clock::now().time_since_epoch();
    return waits_ ? now : std::clamp(sent, std::min(looked_, now), now);
  }

  void lose(int rank, const Status& why) {
    Peer& p = peer(rank);
    if (!p.loss.ok()) return;
    // After its goodbye, and ours, a closed connection is the end.
    if (p.goodbye && finishing_) return;
    p.loss = {StatusCode::lost,
              "rank " + std::to_string(rank) + " was lost (" + why.message() + ")"};
    loss_seen_ = true;
  }

  // The cause if it is known: a rank that went without a word before one that only tells of
  // another.
  Status loss() {
    Status told;
    for (const Peer& p : peers_) {
      if (p.loss.ok()) continue;
      if (!p.told) return p.loss;
      if (told.ok()) told = p.loss;
    }
    return told;
  }

  Status silence(std::chrono::nanoseconds limit, int missing) const {
    return {StatusCode::timeout, "rank " + std::to_string(rank()) + " waited " +
                                     seconds_text(limit) + " for rank " + std::to_string(missing) +
                                     ", which said nothing"};
  }

  SocketOptions options_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer timer_;
  std::vector<std::shared_ptr<Connection>> connections_;  // by rank, empty at the own
  std::vector<Peer> peers_;
  std::vector<Delivery> inbox_;
  std::map<std::pair<std::int64_t, int>, Payload> gathers_;  // by call and rank
  std::int64_t calls_ = 0;
  core::Time looked_{0};  // when the last poll ended
  bool waits_ = false;    // inside a poll
  bool finishing_ = false;
  bool loss_seen_ = false;
  bool abandoned_ = false;
  Status failure_;
};

}  // namespace

Status connect_sockets(const SocketOptions& options, std::unique_ptr<Transport>& transport) {
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    return {StatusCode::invalid, "rank " + std::to_string(options.rank) + " of " +
                                     std::to_string(options.ranks) + " ranks"};
  }
  auto result = std::make_unique<SocketTransport>(options);
  if (Status status = result->connect(); !status.ok()) return status;
  transport = std::move(result);
  return {};
}

}  // namespace ripeline::runtime
