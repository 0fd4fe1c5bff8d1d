// Contest: runs dispatches of a pipeline under the same draws, so that they can be compared.
//
// A Contestant runs one program repeatedly, each time with a seed. Two contestants with the same
// seed draw the same numbers, so the ratio of their makespans is far less uncertain than each
// makespan. optimise/racing/gain.h tells what the ratios of many seeds show. Not thread-safe.
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
  breach,   // something that was proved or asserted does not hold
  refused,  // the times do not fit the program
};
[[nodiscard]] const char* name_of(End end);  // the enumerator's name
struct Outcome {
  double makespan = 0;  // in the timing's unit, as is `span`
  double span = 0;
  std::int64_t notices = 0;
  std::int64_t tasks = 0;
  std::vector<std::int64_t> peaks;  // per pool
  End end = End::ended;
  std::string failure;  // why it did not end; the other fields then mean nothing
};

class Contestant {
 public:
  using MakeArbiter = std::function<std::unique_ptr<core::Arbiter>(int rank)>;

  // Runs the program under table arbiters or, with `make_arbiter`, under its arbiters and `facts`.
  Contestant(spec::Program program, int microbatches);
  Contestant(spec::Program program, int microbatches, const core::ProgramFacts& facts,
             const MakeArbiter& make_arbiter);
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }

  // Runs the program with `seed`; `options.seed` is ignored.
  [[nodiscard]] Outcome run(const simulate::TimingOptions& options, std::uint64_t seed);

 private:
  spec::Program program_;
  int microbatches_;
  std::optional<core::OwnedFacts> storage_;  // nullopt if the caller owns the facts
  simulate::Simulator simulator_;
};

}  // namespace ripeline::optimise
