// StepTimes: how long a rank's tasks take in a step, together and on average by lane. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/costs.h"
#include "core/facts.h"

namespace ripeline::runtime::protocol {

struct StepReport {
  std::chrono::nanoseconds duration{0};  // from begin_step() until the rank is done
  std::chrono::nanoseconds busy{0};      // inside tasks, including injected delays
  std::int64_t tasks = 0;
};

class StepTimes {
 public:
  void begin_step(const core::ProgramFacts& facts, core::Time now) {
    report_ = {};
    begun_ = now;
    took_.assign(facts.lanes.size(), core::Time{0});
    ended_.assign(facts.lanes.size(), 0);
  }
  void task_ended(core::LaneId lane, core::Time took);
  void step_done(core::Time now) { report_.duration = now - begun_; }

  [[nodiscard]] const StepReport& report() const { return report_; }
  // The measured costs of tasks, 0 for lanes without an ended task; nullopt before the first step.
  [[nodiscard]] std::optional<core::Costs> averages(const core::ProgramFacts& facts) const;

 private:
  StepReport report_;
  core::Time begun_{0};
  std::vector<core::Time> took_;     // per lane, the sum over its tasks
  std::vector<std::int64_t> ended_;  // tasks per lane
};

}  // namespace ripeline::runtime::protocol
