// A program whose ranks run any task that may start, over edges of NCCL, on the fakes: what can
// happen next, for who visits all of it.
//
// spec::Machine says which tasks may start. Each rank has a device, and with each rank to which it
// sends, an edge, whose ends are runtime::NcclEnd. A task is over at once, so its messages are
// complete. What the device can do it has done before a host goes on, unless `stepwise`: streams do
// not compete for anything but room, so a device that is slow is a host that looks late.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spec/machine.h"

namespace ripeline::testing_support {

// The departures from the rules of runtime/cuda/carriers/nccl_end.h, and the kind of device.
struct EdgeRules {
  bool pair = false;          // one communicator for both directions
  bool shared = false;        // communicators are split with splitShare
  bool one_fits = false;      // on a device there is room for one kernel
  bool deep = false;          // an end is told that its operation has ended once it is launched
  bool ahead = false;         // receives are launched before they are announced
  bool synchronises = false;  // a host may wait for its whole device at any time
  bool non_blocking = false;  // and the event is recorded while the launch is in progress
  bool push = false;          // copies by the sender alone, instead of NCCL
  int connections = 0;        // per device; 0: each stream has its own
  bool stepwise = false;      // the device does one thing at a time, whichever it likes
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

  // Equal: the same can happen from here on.
  [[nodiscard]] std::string state() const;
  [[nodiscard]] bool is_done() const;
  // The fault, such as a message that was taken before it was there; empty: none.
  [[nodiscard]] const std::string& wrong() const;
  // One line per wait: who waits, and for what.
  [[nodiscard]] std::string waits() const;

 private:
  class World;
  std::unique_ptr<World> world_;
};

}  // namespace ripeline::testing_support
