// Network: what carries messages and signs of life between the processes of a simulated run.
//
// It connects neighbours. As every transport: messages between two processes may overtake each
// other; that a peer is gone is told once, after all of what it sent that arrives. What was on its
// way over a connection that breaks arrives up to some message, in the order of sending. Heartbeats
// are no events: when a sign of life last came is computed when somebody asks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/process/outgoing.h"
#include "tests/joint/log.h"
#include "tests/joint/scenario.h"

namespace ripeline::joint {

class Network {
 public:
  // Receives all that arrives. A delivery's times are those of the timeline.
  struct Receiver {
    std::function<void(int to, runtime::Delivery)> delivery;
    std::function<void(int to, int from)> goodbye;
  };
  Network(Timeline& timeline, const Scenario& scenario, bool lost_overtakes, Log& log);
  void set_receiver(Receiver receiver) { receiver_ = std::move(receiver); }

  void send(int from, runtime::process::Outgoing message);
  // To all: the process says nothing more.
  void say_goodbye(int process);
  // The process is gone: all others are told so.
  void close(int process, const std::string& how);
  // The same, but what is on its way may not arrive.
  void kill(int process);
  void cut(int process, int other);
  // Its heartbeats stop, and go on.
  void stop(int process);
  void resume(int process);

  // When a sign of life of `from` last came to `to`, if it is before now.
  [[nodiscard]] core::Time last_sign(int from, int to) const;
  // The last thing that was sent from one to the other, for who repeats it; nothing: none was.
  [[nodiscard]] const std::vector<runtime::process::Outgoing>& sent(int from, int to) const {
    return wire(from, to).sent;
  }
  // The longest that anything took.
  [[nodiscard]] core::Time longest() const { return longest_; }

 private:
  // One direction of a connection.
  struct Wire {
    bool open = true;
    core::Time broken{core::Time::max()};  // then no heartbeat gets through
    std::int64_t sends = 0;
    std::int64_t cut_at = -1;    // messages from this one on do not arrive; -1: all do
    core::Time last_arrival{0};  // the latest of what was sent so far
    core::Time last_sign{0};     // when a message last came
    core::Time heartbeat_delay{0};
    std::vector<runtime::process::Outgoing> sent;  // the last few
  };
  struct Silence {
    core::Time from{0};
    core::Time to = core::Time::max();
  };

  [[nodiscard]] std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from * scenario_.processes + to);
  }
  Wire& wire(int from, int to) { return wires_[index(from, to)]; }
  [[nodiscard]] const Wire& wire(int from, int to) const { return wires_[index(from, to)]; }
  core::Time draw_delay();
  void lose(int from, int to, const std::string& how, core::Time delay);
  // May choose a message: from it on, nothing that is on its way from one to the other arrives.
  void drop_some(int from, int to);
  [[nodiscard]] bool beats(int process, core::Time when) const;

  Timeline& timeline_;
  const Scenario& scenario_;
  bool lost_overtakes_;
  Log& log_;
  Random random_;
  Receiver receiver_;
  std::vector<Wire> wires_;
  std::vector<std::vector<Silence>> silences_;  // by process
  core::Time longest_{0};
};

// For logs: `data 3 of edge 5, step 0`.
[[nodiscard]] std::string describe(const runtime::Envelope& envelope);

}  // namespace ripeline::joint
