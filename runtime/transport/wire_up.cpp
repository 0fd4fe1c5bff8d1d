#include "runtime/transport/wire_up.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/steady_timer.hpp>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>
#include "runtime/duration.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLateRanks = 5s;       // what ranks differ in starting
constexpr auto kRetryInterval = 2ms;  // until a lower rank listens
constexpr auto kLastWords = 200ms;    // for what a refused peer has to be told

std::string hex(std::uint64_t value) {
  std::array<char, 17> text{};
  std::to_chars(text.data(), text.data() + 16, value, 16);
  return text.data();
}

class WireUp {
 public:
  WireUp(asio::io_context& io, const SocketOptions& options, Place& place, Wires& wires)
      : io_(io), options_(options), place_(place), wires_(wires), acceptor_(io) {
    wires_.clear();
    wires_.resize(wire_of(options.ranks, Channel::data));
    met_.assign(wires_.size(), false);
    for (const Channel channel : kEach) met_[wire_of(options.rank, channel)] = true;
  }

  Status run() {
    if (Status status = open_folder(); !status.ok()) return status;
    if (Status status = listen(); !status.ok()) return status;
    accept_next();
    for (int rank = 0; rank < options_.rank; ++rank) {
      for (const Channel channel : kEach) connect({rank, channel});
    }
    const Clock::time_point limit = Clock::now() + options_.connect_limit;
    while (result_.ok() && !missing().empty() && Clock::now() < limit) io_.run_one_until(limit);
    if (another_program_) wait_for_late_ranks(std::min(limit, Clock::now() + kLateRanks));
    if (!result_.ok()) say_why();
    stop();
    if (!result_.ok() || missing().empty()) return result_;
    return {StatusCode::timeout, "rank " + std::to_string(options_.rank) + " waited " +
                                     seconds_text(options_.connect_limit) + " for rank " +
                                     missing() + " to connect in " + options_.folder};
  }

 private:
  // A connection as its two ends know it.
  struct End {
    int rank = -1;  // the other one
    Channel channel = Channel::data;
  };
  static constexpr std::array kEach = {Channel::data, Channel::control};

  Wire& wire(End end) { return wires_[wire_of(end.rank, end.channel)]; }
  bool has(int rank, Channel channel) const {
    return wires_[wire_of(rank, channel)].connection != nullptr;
  }

  std::string path_of(int rank) const { return options_.folder + "/rank-" + std::to_string(rank); }

  std::string missing() const {
    std::string ranks;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      if (rank == options_.rank) continue;
      if (has(rank, Channel::data) && has(rank, Channel::control)) continue;
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    }
    return ranks;
  }

  Status system_error(const std::string& what) const {
    return {StatusCode::failed, options_.folder + ": " + what + ": " + std::strerror(errno)};
  }

  // Ours alone, or nothing: whoever can write into the folder can take a rank's place.
  Status open_folder() const {
    if (mkdir(options_.folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return system_error("cannot make the run's folder");
    }
    struct stat info {};
    if (lstat(options_.folder.c_str(), &info) != 0)
      return system_error("cannot look at the run's folder");
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
      return {StatusCode::refused,
              options_.folder + ": expected a folder of this user alone (mode 0700)"};
    }
    if (path_of(options_.ranks).size() >= sizeof(sockaddr_un::sun_path)) {
      return {StatusCode::invalid, options_.folder + ": too long for the path of a Unix socket"};
    }
    return {};
  }

  Status listen() {
    const std::string path = path_of(options_.rank);
    unlink(path.c_str());  // of a run that was killed
    asio::error_code error;
    acceptor_.open(asio::local::stream_protocol(), error);
    if (!error) prepare_socket(acceptor_.native_handle(), options_.kernel_bytes);
    if (!error) acceptor_.bind({path}, error);
    if (!error) acceptor_.listen(kChannels * options_.ranks + 16, error);
    if (error) return {StatusCode::failed, path + ": cannot listen: " + error.message()};
    return {};
  }

  // A rank that still starts must learn that the programs differ, or it waits for ranks that have
  // ended.
  void wait_for_late_ranks(Clock::time_point limit) {
    const auto all_met = [this] {
      return std::find(met_.begin(), met_.end(), false) == met_.end();
    };
    while (!all_met() && Clock::now() < limit) io_.run_one_until(limit);
  }

  void stop() {
    *alive_ = false;
    asio::error_code ignored;
    acceptor_.close(ignored);
    unlink(path_of(options_.rank).c_str());
    for (const auto& connection : pending_) connection->close();
    for (const auto& timer : timers_) timer->cancel();
  }

  // Not async_accept(): its descriptors are close-on-exec only later, and a program that another
  // thread starts in between would keep the connection alive.
  void accept_next() {
    acceptor_.async_wait(acceptor_.wait_read, [this, alive = alive_](asio::error_code error) {
      if (!*alive || error) return;
      const int descriptor =
          accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (descriptor >= 0) {
        const auto connection = connection_of(descriptor);
        if (connection->peer_user() == geteuid()) await_hello(connection, {});
        accept_next();
      } else {
        retry([this] { accept_next(); });  // it went away, or there are no descriptors now
      }
    });
  }

  std::shared_ptr<Connection> connection_of(int descriptor) {
    prepare_socket(descriptor, options_.kernel_bytes);
    return std::make_shared<Connection>(UnixSocket(io_, asio::local::stream_protocol(), descriptor),
                                        options_.token, options_.largest_payload, place_);
  }

  template <class Action>
  void retry(Action action) {
    const auto timer = std::make_shared<asio::steady_timer>(io_, kRetryInterval);
    timers_.push_back(timer);
    timer->async_wait([this, timer, action, alive = alive_](asio::error_code stopped) {
      if (stopped || !*alive) return;
      std::erase(timers_, timer);
      action();
    });
  }

  void connect(End end) {
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_of(end.rank).copy(address.sun_path, sizeof address.sun_path - 1);
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    if (descriptor < 0 || ::connect(descriptor, where, sizeof address) != 0) {
      if (descriptor >= 0) close(descriptor);
      retry([this, end] { connect(end); });
      return;
    }
    const auto connection = connection_of(descriptor);
    if (connection->peer_user() != geteuid()) {
      retry([this, end] { connect(end); });
      return;
    }
    connection->send(hello(end.channel));
    await_hello(connection, end);
  }

  Frame hello(Channel channel) const {
    Frame frame;
    frame.kind = FrameKind::hello;
    frame.token = options_.token;
    frame.program_hash = options_.program_hash;
    frame.envelope.message = {options_.rank, options_.ranks};
    frame.envelope.ordinal = static_cast<std::int32_t>(channel);
    return frame;
  }

  // `expected` is the end that was called; without a rank when we were.
  void await_hello(const std::shared_ptr<Connection>& connection, End expected) {
    pending_.push_back(connection);
    const auto timer = std::make_shared<asio::steady_timer>(io_, options_.hello_limit);
    const std::weak_ptr<Connection> weak = connection;
    const auto drop = [this, weak, expected] {
      const auto it = std::find(pending_.begin(), pending_.end(), weak.lock());
      if (it == pending_.end()) return;
      (*it)->close();
      pending_.erase(it);
      // It may have been another run's: once more, until the limit.
      if (expected.rank >= 0 && !has(expected.rank, expected.channel)) {
        retry([this, expected] { connect(expected); });
      }
    };
    // A rank that was called may be busy before it looks: only the limit of all ends that wait.
    if (expected.rank < 0) {
      timers_.push_back(timer);
      timer->async_wait([timer, drop, alive = alive_](asio::error_code stopped) {
        if (!stopped && *alive) drop();
      });
    }
    connection->start({.on_frame =
                           [this, weak, expected, timer, drop](Frame&& frame) {
                             timer->cancel();
                             const auto self = weak.lock();
                             if (!greet(self, expected, frame)) drop();
                           },
                       .on_closed = [drop](const Status&) { drop(); }});
  }

  // False: a stranger.
  bool greet(const std::shared_ptr<Connection>& connection, End expected, const Frame& frame) {
    const int rank = frame.envelope.message.edge;
    const int ranks = frame.envelope.message.microbatch;
    const int channel = frame.envelope.ordinal;
    if (frame.kind != FrameKind::hello || rank < 0 || channel < 0 || channel >= kChannels) {
      return false;
    }
    const End end{rank, static_cast<Channel>(channel)};
    const bool was_called = expected.rank < 0;
    if (!was_called && (rank != expected.rank || end.channel != expected.channel)) return false;
    if (was_called) connection->send(hello(end.channel));
    if (rank < options_.ranks) met_[wire_of(rank, end.channel)] = true;
    if (ranks != options_.ranks) {
      refuse(rank, "has " + std::to_string(ranks) + " ranks, rank " +
                       std::to_string(options_.rank) + " has " + std::to_string(options_.ranks));
      return true;
    }
    if (frame.program_hash != options_.program_hash) {
      another_program_ = true;
      refuse(rank, "runs program " + hex(frame.program_hash) + ", rank " +
                       std::to_string(options_.rank) + " runs program " +
                       hex(options_.program_hash) +
                       ": all ranks must be built from the same schedule");
      return true;
    }
    if (was_called && (rank <= options_.rank || rank >= options_.ranks)) return false;
    if (wire(end).connection) return false;
    wire(end).connection = connection;
    std::erase(pending_, connection);
    connection->hand_over(
        {.on_frame = [this, end](Frame&& f) { wire(end).early.push_back(std::move(f)); },
         .on_closed = [this, end](const Status& why) { lose(end, why); }});
    return true;
  }

  void lose(End end, const Status& why) {
    if (!result_.ok()) return;
    for (const Frame& frame : wire(end).early) {
      if (frame.kind != FrameKind::abandon) continue;
      another_program_ = frame.envelope.step == static_cast<std::int64_t>(StatusCode::refused);
      result_ = abandon_status(end.rank, frame);
      return;
    }
    result_ = {StatusCode::lost, "rank " + std::to_string(end.rank) +
                                     " was lost while the ranks connected (" + why.message() + ")"};
  }

  // To the ranks that fit, so that they name the cause; the one that was refused has our hello. On
  // every connection that there is: whichever they see end first, it has said why.
  void say_why() {
    for (const Wire& wire : wires_) {
      if (!wire.connection) continue;
      wire.connection->send(abandon_frame(options_.token, options_.program_hash, result_));
    }
    const auto is_flushed = [this] {
      return std::all_of(wires_.begin(), wires_.end(), [](const Wire& w) {
        return !w.connection || w.connection->queued() == 0;
      });
    };
    const Clock::time_point limit = Clock::now() + kLastWords;
    while (!is_flushed() && Clock::now() < limit) io_.run_one_until(limit);
  }

  void refuse(int rank, const std::string& why) {
    if (result_.ok()) result_ = {StatusCode::refused, "rank " + std::to_string(rank) + " " + why};
  }

  asio::io_context& io_;
  const SocketOptions& options_;
  Place& place_;
  Wires& wires_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::vector<std::shared_ptr<Connection>> pending_;  // have not said hello
  std::vector<std::shared_ptr<asio::steady_timer>> timers_;
  std::vector<bool> met_;         // by rank and channel: it has said hello; the own, too
  bool another_program_ = false;  // found here, or by a rank that has told us
  Status result_;
  // Handlers that are queued when this ends look here first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

Status wire_up(asio::io_context& io, const SocketOptions& options, Place& place, Wires& wires) {
  Status status = WireUp(io, options, place, wires).run();
  if (!status.ok()) {
    for (const Wire& wire : wires) {
      if (wire.connection) wire.connection->close();
    }
  }
  return status;
}

}  // namespace ripeline::runtime
