// TimedEngine: runs tasks that only take time, as a Timing determines, on the rank's clock.
//
// A task ends exactly its duration after its start; beside another task the duration is longer, as
// the timing says. Belongs to its rank's thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/clock.h"
#include "runtime/engine.h"
#include "simulate/overlap.h"

namespace ripeline::emulate {

class TimedEngine final : public runtime::TaskEngine {
 public:
  // All are borrowed.
  TimedEngine(const core::ProgramFacts& facts, const simulate::Timing& timing,
              const runtime::RankClock& clock)
      : facts_(facts), timing_(timing), clock_(clock) {}

  void begin_step(std::int64_t /*step*/, int /*microbatches*/) override {}
  void start(runtime::Call call) override;
  void start_pair(runtime::Call first, runtime::Call second) override;
  bool ended(runtime::Ended& out) override;
  [[nodiscard]] core::Time next() const override;

 private:
  struct Running {
    runtime::Call call;
    core::Time end{0};
  };
  [[nodiscard]] std::size_t engine_of(core::Task task) const {
    return static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(task.lane)].engine);
  }

  const core::ProgramFacts& facts_;
  const simulate::Timing& timing_;
  const runtime::RankClock& clock_;
  std::array<simulate::Overlap, core::kEngines> overlaps_;
  std::vector<Running> running_;
};

}  // namespace ripeline::emulate
