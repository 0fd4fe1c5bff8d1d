// Times: a number for each task of a committed order, greater than the numbers of all tasks for
// which it waits. If such numbers exist, no task waits for ever for a need, for any timing.
//
// The time of the task at a position is base + turn * t + slope * q, with one `turn` and one
// `slope` per run, so one base per position has to be found. An edge demands base(after) >=
// base(before) + weight: then the task at `after` is later than each task at `before` that it waits
// for, for all turns and all q at once. docs/proofs.md has the argument. Pure; thread-safe.
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
  step,  // the step before it in the turn
  turn,  // the turn before it
  run,   // the run before it
  need,  // a task that it needs
};

struct TimeEdge {
  WaitKind kind = WaitKind::step;
  int before = 0;  // `before` and `after` are positions
  int after = 0;
  std::int64_t weight = 0;
};

// The last of the producer's tasks that the consumer's task n needs, as turn * n + slope * q +
// base; the others are earlier in that rank's order. Read from Program::needed; nullopt if the two
// lanes number their microbatches differently.
[[nodiscard]] std::optional<InTurn> last_needed(const spec::Program& program,
                                                const AffineOrder& order, const spec::Edge& edge);

// The pace of a run: the time of its positions grows by `turn` with each turn, and by `slope` with
// q.
struct Pace {
  Wide turn = 0;
  Wide slope = 0;
};

struct Waits {
  std::vector<Pace> paces{};  // per run
  std::vector<TimeEdge> edges{};
};

// All waits of tasks except those for room, slots and rendezvous; nullopt if some pair of tasks has
// no weight, or a need is not linear.
[[nodiscard]] std::optional<Waits> waits_of(const spec::Program& program, const AffineOrder& order);

// A base for each position such that all edges hold; nullopt if no such bases were found.
[[nodiscard]] std::optional<std::vector<std::int64_t>> bases_for(
    std::size_t positions, const std::vector<TimeEdge>& edges);

}  // namespace ripeline::verify
