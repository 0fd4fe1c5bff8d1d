// Contest: dispatches of a pipeline against each other, under the same draws.
//
// A Contestant runs one program again and again, each run with a seed; who meets the same seeds
// meets the same numbers, so that a ratio of two makespans is far less uncertain than either. What
// the ratios of many seeds are worth is said by optimise/racing/gain.h. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "simulate/simulator.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

enum class End : std::uint8_t {
  ended,
  stuck,
  breach,   // something proved, or asserted, does not hold
  refused,  // the times do not fit the program
};
[[nodiscard]] const char* name_of(End end);  // as the enumerators
struct Outcome {
  double makespan = 0;  // in units, as the next one
  double span = 0;
  std::int64_t notices = 0;
  std::int64_t tasks = 0;
  std::vector<std::int64_t> peaks;  // per pool
  End end = End::ended;
  std::string failure;  // unless it ended: why; then nothing else is said
};

class Contestant {
 public:
  using MakeArbiter = std::function<std::unique_ptr<core::Arbiter>(int rank)>;

  // Runs under arbiters made at run time, or under others with the same facts.
  Contestant(spec::Program program, int microbatches);
  Contestant(spec::Program program, int microbatches, const core::ProgramFacts& facts,
             const MakeArbiter& make_arbiter);
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }

  // `options.seed` is not looked at.
  [[nodiscard]] Outcome run(const simulate::TimingOptions& options, std::uint64_t seed);

 private:
  spec::Program program_;
  int microbatches_;
  std::optional<core::OwnedFacts> storage_;  // nothing: the facts are someone else's
  simulate::Simulator simulator_;
};

}  // namespace ripeline::optimise
