// Subject: a proved program that is compared, what it may hold, and what it did in one run.
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

// One step. Times are in units, of which a forward takes one.
struct Run {
  double makespan = 0;
  std::vector<std::int64_t> held;     // by rank, the most
  std::vector<std::uint64_t> orders;  // by rank: a hash of the tasks in the order of their starts
  std::int64_t notices = 0;
  double behind = 0;  // the most by which a rank went on late; of an emulated run
};

class Subject {
 public:
  // Proves it; throws std::runtime_error if it cannot. One pool of activations to each rank.
  Subject(std::string name, spec::Program program);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] const core::ProgramFacts& facts() const { return facts_->facts(); }
  // By rank: what was proved that it never holds more than.
  [[nodiscard]] const std::vector<std::int64_t>& proved() const { return proved_; }
  // A hint that waits: RN, FC.
  [[nodiscard]] bool waits() const { return program_.dispatch.hint.patience.has_value(); }

  // Throws if the times do not fit the program.
  [[nodiscard]] simulate::Timing timing(const simulate::TimingOptions& options, std::uint64_t seed,
                                        int microbatches) const;

 private:
  std::string name_;
  spec::Program program_;
  std::shared_ptr<const core::OwnedFacts> facts_;
  std::vector<std::int64_t> proved_;
};

// Appends a start to the hash of a rank's order; that of none is kNoStarts.
inline constexpr std::uint64_t kNoStarts = 14695981039346656037U;
[[nodiscard]] std::uint64_t with_start(std::uint64_t order, core::Task task);

// All seeds of one condition on the virtual clock, in order: what a hint learned in one stays for
// the next. Throws std::runtime_error if a run does not end.
[[nodiscard]] std::vector<Run> simulate_runs(const Subject& subject,
                                             const simulate::TimingOptions& times, int microbatches,
                                             int first_seed, int seeds);

}  // namespace ripeline::bench::comparison
