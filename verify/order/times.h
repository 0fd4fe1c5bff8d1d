// Times: a number for each task of a committed order, greater than those of all tasks that it waits
// for. If there are such numbers nothing is stuck for want of a need, whatever the timing.
//
// At a place the time of the task is base + turn * t + slope * q, with one `turn` and one `slope`
// per run, so one base per place has to be found. `after` >= `before` + `weight`, of the bases,
// says that the one task is the later one wherever a rank waits, for all turns and all q at once.
// docs/proofs.md has the argument. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/order/affine.h"

namespace ripeline::verify {

// Why a task comes after another.
enum class WaitKind : std::uint8_t {
  step,  // the step before it in its turn
  turn,  // the turn before it
  run,   // the run before it
  need,  // what it needs
};

struct TimeEdge {
  WaitKind kind = WaitKind::step;
  int before = 0;  // places
  int after = 0;
  std::int64_t weight = 0;
};

// The last task that a need of the consumer's task n is about, as turn * n + slope * q + base;
// those before it are earlier in its rank's order. Read from Program::needed; nothing: the two
// lanes number their microbatches differently.
[[nodiscard]] std::optional<InTurn> last_needed(const spec::Program& program,
                                                const AffineOrder& order, const spec::Edge& edge);

// All that tasks wait for but room, slots and rendezvous; nothing where some pair of tasks has no
// such weight, or a need is not linear.
[[nodiscard]] std::optional<std::vector<TimeEdge>> time_edges(const spec::Program& program,
                                                              const AffineOrder& order);

// Whether there are bases for these edges: they are found, and then each edge is looked at.
[[nodiscard]] bool has_times(std::size_t places, const std::vector<TimeEdge>& edges);

}  // namespace ripeline::verify
