// Jitter: the random variations of a run's times, and their sizes.
//
// Every draw is a function of the seed and of its subject. A task is identified by its op's name,
// its stage and its input; a message is identified by its two ends and its input. Draws depend
// neither on time nor on the order of events. So programs that are compared get the same numbers
// (common random numbers), even if their lanes, placements and dispatches differ. SPEC is a list
// with commas; docs/simulate.md has the table. Values; shared freely.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/status.h"

namespace ripeline::simulate {

struct Jitter {
  // A task sleeps, with this probability, for share * max(base, its mean) * (0.5 + U(0, 1)).
  struct Sleep {
    double probability = 0;
    double base_ms = 0;  // only where durations have a real unit
    double share = 0;
  };
  Sleep sleep;
  double uniform = 0;          // tasks: a factor 1 + uniform * U(-1, 1)
  double lognormal = 0;        // tasks: a lognormal factor of mean 1 and this cv
  double pareto = 0;           // tasks: a Pareto factor of mean 1 and this exponent; 0: off
  double input = 0;            // microbatches: a lognormal factor of mean 1; sigma of its log
  double estimate = 0;         // known costs of inputs: a factor as error; sigma of its log
  std::map<int, double> slow;  // tasks of a rank: the factor
  double tail_share = 0;       // messages: the share that arrives late,
  double tail = 0;             // and how late these arrive, in units
  double exponential = 0;      // messages: an exponential delay of this mean, in units
  bool fifo = false;           // messages of an edge keep their order
  std::string text = {};       // SPEC, as it was parsed

  // Parses SPEC: `J1`, `uniform=0.3,tails=2:20,fifo`. A failure names what was expected, and where.
  static core::Status parse(std::string_view spec, Jitter& jitter);
  // Whether anything is drawn at random.
  [[nodiscard]] bool draws() const;
};

// The key of a draw.
struct Drawn {
  std::uint64_t seed = 1;
  std::uint64_t what = 0;  // a task's op and stage, or a message's ends
  std::uint64_t microbatch = 0;
};

// FNV-1a of an op's name, which is the same in every program.
[[nodiscard]] std::uint64_t name_key(std::string_view name);

// The product of the task's own factors, without those of its input and its rank.
[[nodiscard]] double task_factor(const Jitter& jitter, const Drawn& drawn);
// How long the task sleeps, in the unit of `mean` and `base`.
[[nodiscard]] double task_sleep(const Jitter& jitter, const Drawn& drawn, double mean, double base);
// The factor of the microbatch, for every task whose cost depends on it.
[[nodiscard]] double input_factor(const Jitter& jitter, std::uint64_t seed,
                                  std::uint64_t microbatch);
// The known cost of the microbatch, divided by its real cost.
[[nodiscard]] double estimate_factor(const Jitter& jitter, std::uint64_t seed,
                                     std::uint64_t microbatch);
// A lognormal factor of mean 1, with which measured spreads are drawn.
[[nodiscard]] double spread_factor(double cv, const Drawn& drawn);
// The extra time that a message takes, in units.
[[nodiscard]] double message_delay(const Jitter& jitter, const Drawn& drawn);

}  // namespace ripeline::simulate
