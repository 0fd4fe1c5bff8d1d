// Subject: a proved program in a comparison. StepResult: the result of one of its steps.
//
// Values that processes share after a fork; immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/facts.h"
#include "lower/facts.h"
#include "simulate/timing.h"
#include "spec/program.h"
#include "trace/record.h"

namespace ripeline::bench::comparison {

// The result of one step. Times are in units; a forward takes one unit.
struct StepResult {
  double makespan = 0;
  std::vector<std::int64_t> held;     // the peak, by rank
  std::vector<std::uint64_t> orders;  // by rank, a hash of the tasks in their order
  std::int64_t notices = 0;
  double behind = 0;  // the longest delay of a rank, in an emulated run
};

class Subject {
 public:
  // Throws std::runtime_error if the program is not proved, or if a rank has several pools.
  Subject(std::string name, spec::Program program);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] const core::ProgramFacts& facts() const { return facts_->facts(); }
  // By rank, the proved limit on what the rank holds.
  [[nodiscard]] const std::vector<std::int64_t>& proved() const { return proved_; }
  // Whether the program is a hint that waits, such as RN or FC.
  [[nodiscard]] bool waits() const { return program_.dispatch.hint.patience.has_value(); }

  // Throws if the options do not suit the program.
  [[nodiscard]] simulate::Timing timing(const simulate::TimingOptions& options, std::uint64_t seed,
                                        int microbatches) const;

 private:
  std::string name_;
  spec::Program program_;
  std::shared_ptr<const core::OwnedFacts> facts_;
  std::vector<std::int64_t> proved_;
};

// The hash of a rank's order after one more start. Before any start it is kNoStarts.
inline constexpr std::uint64_t kNoStarts = 14695981039346656037U;
[[nodiscard]] std::uint64_t with_start(std::uint64_t order, core::Task task);

// Simulates all seeds of one condition, in order, since a hint keeps what it has learned for the
// next seed. Throws std::runtime_error if a run does not end.
[[nodiscard]] std::vector<StepResult> simulate_runs(const Subject& subject,
                                                    const simulate::TimingOptions& times,
                                                    int microbatches, int first_seed, int seeds);

}  // namespace ripeline::bench::comparison
