// Network: carries messages and signs of life between the processes of a simulated run.
//
// It connects neighbours. As with every transport, messages between two processes may overtake each
// other, and a peer's end is reported once, after all of its messages that arrive. When a
// connection breaks, messages under way arrive only up to some message in the order of sending.
// Heartbeats are not events: the time of the last sign of life is computed on request.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/protocol/outgoing.h"
#include "tests/joint/log.h"
#include "tests/joint/scenario.h"

namespace ripeline::joint {

class Network {
 public:
  // The receiver of everything that arrives. The times of a delivery are those of the timeline.
  struct Receiver {
    std::function<void(int to, runtime::Delivery)> delivery;
    std::function<void(int to, int from)> goodbye;
  };
  Network(Timeline& timeline, const Scenario& scenario, bool lost_overtakes, Log& log);
  void set_receiver(Receiver receiver) { receiver_ = std::move(receiver); }

  void send(int from, runtime::protocol::Outgoing message);
  // Reports to all others that the process sends nothing more.
  void say_goodbye(int process);
  // Closes the process's connections, which is reported to all others.
  void close(int process, const std::string& how);
  // The same as close(), but messages under way may not arrive.
  void kill(int process);
  void cut(int process, int other);
  // stop() stops the heartbeats of the process until resume().
  void stop(int process);
  void resume(int process);

  // The time when a sign of life of `from` last reached `to`; 0 if none has.
  [[nodiscard]] core::Time last_sign(int from, int to) const;
  // The last few messages from `from` to `to`, which a faulty process repeats; may be empty.
  [[nodiscard]] const std::vector<runtime::protocol::Outgoing>& sent(int from, int to) const {
    return wire(from, to).sent;
  }
  // The longest delay of any message or report so far.
  [[nodiscard]] core::Time longest() const { return longest_; }

 private:
  // One direction of a connection.
  struct Wire {
    bool open = true;
    core::Time broken{core::Time::max()};  // from this time on no heartbeat arrives
    std::int64_t sends = 0;
    std::int64_t cut_at = -1;    // the first message that does not arrive; -1 if all arrive
    core::Time last_arrival{0};  // the latest arrival of the messages so far
    core::Time last_sign{0};     // the time at which a message last arrived
    core::Time heartbeat_delay{0};
    std::vector<runtime::protocol::Outgoing> sent;  // the last few messages
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
  // May choose a message under way. Then it and all later ones from `from` to `to` do not arrive.
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

// A text for logs, such as `data 3 of edge 5, step 0`.
[[nodiscard]] std::string describe(const runtime::Envelope& envelope);

}  // namespace ripeline::joint
