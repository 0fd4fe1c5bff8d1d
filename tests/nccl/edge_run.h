// A run of a program on the fakes, in which ranks run any task that may start, over edges of NCCL.
// It offers all possible next events, so that a search can visit every run.
//
// spec::Machine decides which tasks may start. Each rank has a device and, for each rank to which
// it sends, an edge whose ends are runtime::NcclEnd. A task ends at once, so its messages are
// complete. Unless `stepwise`, the device does all that it can before a host continues: since
// streams compete only for room, a slow device is equivalent to a host that polls late.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spec/machine.h"

namespace ripeline::testing_support {

// Departures from the rules of runtime/cuda/carriers/nccl_end.h, and the kind of device.
struct EdgeRules {
  bool pair = false;          // one communicator for both directions
  bool shared = false;        // communicators are split with splitShare
  bool one_fits = false;      // a device has room for only one kernel
  bool deep = false;          // an end counts its operation as ended once that is launched
  bool ahead = false;         // receives are launched before they are announced
  bool synchronises = false;  // a host may wait for its whole device at any time
  bool non_blocking = false;  // non-blocking: the event is recorded during the launch
  bool push = false;          // the sender copies by itself, without NCCL
  int connections = 0;        // queues per device; 0 if each stream has its own
  bool stepwise = false;      // the device makes one move at a time, in any order
};

struct EdgeChoice {
  enum class Kind : std::uint8_t { run, hear, see, wait, device };
  Kind kind = Kind::run;
  std::int8_t rank = 0;
  std::int16_t which = 0;  // the task (lane * microbatches + microbatch), the end, or the move
};

class EdgeRun {
 public:
  // The machine is borrowed; its program's links must be unbounded.
  EdgeRun(const spec::Machine& machine, const EdgeRules& rules);
  ~EdgeRun();
  EdgeRun(const EdgeRun&) = delete;
  EdgeRun& operator=(const EdgeRun&) = delete;

  [[nodiscard]] std::vector<EdgeChoice> choices() const;
  void take(const EdgeChoice& choice);
  [[nodiscard]] std::string text_of(const EdgeChoice& choice) const;

  // A text of the state: equal texts allow the same events.
  [[nodiscard]] std::string state() const;
  [[nodiscard]] bool is_done() const;
  // The fault, such as a message that was taken before it had arrived; empty if there is none.
  [[nodiscard]] const std::string& wrong() const;
  // The waits, one line for each: who waits, and for what.
  [[nodiscard]] std::string waits() const;

 private:
  class World;
  std::unique_ptr<World> world_;
};

}  // namespace ripeline::testing_support
