// TableArbiter: core's arbiter interface for a program that was never compiled, and fast.
//
// What a generated arbiter is, put together at run time from the same parts: core's ReadyRows say
// which needs are met, its Engines what is idle, its Ledger where there is room, its
// CommittedOrders whose turn it is; spec's HintPolicy chooses. No rule is stated here. Tests hold
// it to InterpretedArbiter in every state walked. Begins a step with memory of this rank alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/arbiter.h"
#include "core/engines.h"
#include "core/kept_order.h"
#include "core/ledger.h"
#include "core/order.h"
#include "core/patience.h"
#include "core/ready_rows.h"
#include "spec/hint.h"
#include "spec/program.h"

namespace ripeline::simulate {

// The ops whose tasks start in microbatch order, as core::ReadyRows takes them.
[[nodiscard]] std::vector<int> sequential_ops(const spec::Program& program);

// Program and facts are borrowed and must outlive it.
class TableArbiter final : public core::Arbiter {
 public:
  TableArbiter(const spec::Program& program, const core::ProgramFacts& facts, int rank);

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

  [[nodiscard]] std::int64_t held(int pool) const { return ledger_.held(pool); }

 private:
  [[nodiscard]] bool may_start(core::Task task, core::Engine engine,
                               const core::TaskSet* allowed) const;
  [[nodiscard]] bool has_room(core::LaneId lane) const;
  [[nodiscard]] core::LaneId awaited(core::Engine engine) const;

  const spec::Program& program_;
  const core::ProgramFacts& facts_;
  int rank_;
  core::ReadyRows rows_;
  core::Engines engines_;
  core::Ledger ledger_;
  core::CommittedOrders order_;
  std::optional<spec::HintPolicy> hint_;  // of the current step; nothing: dispatch in order
  spec::HintPolicy::State hint_state_;
  std::optional<core::Patience> patience_;  // of a hint that has it
  std::optional<core::KeptOrder> kept_;     // of a dispatch that keeps one
  core::FollowedOrder followed_;            // what these two read
};

}  // namespace ripeline::simulate
