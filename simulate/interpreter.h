// InterpretedArbiter: implements core's arbiter interface directly by spec/machine.h.
//
// It is slow and obviously right. Generated arbiters must agree with it, and it can run programs
// that were never compiled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "core/order.h"
#include "core/patience.h"
#include "spec/machine.h"
#include "spec/program.h"

namespace ripeline::simulate {

// Program and facts are borrowed and must outlive this object.
class InterpretedArbiter final : public core::Arbiter {
 public:
  InterpretedArbiter(const spec::Program& program, const core::ProgramFacts& facts, int rank);

  const core::ProgramFacts& facts() const override { return facts_; }
  int rank() const override { return rank_; }
  core::Status begin_step(std::int64_t step, int microbatches) override;
  void on_finished(core::Task task, core::Time now) override;
  void on_arrived(core::Message message, core::Time now) override;
  void on_taken(core::Message message, core::Time now) override;
  core::Task next_in_order(core::Engine engine) const override;
  void ready(core::Engine engine, core::TaskSet& out) const override;
  core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                      core::Time now) const override;
  void expect(const core::Costs& costs) override;
  void on_notice(const core::Notice& notice, core::Time now) override;
  void take_notices(core::Time now, std::vector<core::Notice>& out) override;
  void started(core::Task task, core::Time now) override;

  // The machine's state. Only this rank's part is current; the rest is as it was at the start.
  [[nodiscard]] const spec::Machine::State& state() const { return state_; }
  // All state that the current step has changed.
  struct Moment {
    spec::Machine::State state;
    std::optional<core::Patience> patience;
    core::FollowedOrder followed;
  };
  [[nodiscard]] Moment moment() const { return {state_, patience_, followed_}; }
  void restore(const Moment& moment);

 private:
  void arrive(core::Message message);

  const spec::Program& program_;
  const core::ProgramFacts& facts_;
  int rank_;
  std::optional<spec::Machine> machine_;  // the machine of the current step
  spec::Machine::State state_;
  std::optional<core::Patience> patience_;  // if the hint has patience
  core::FollowedOrder followed_;            // read by patience_
};

}  // namespace ripeline::simulate
