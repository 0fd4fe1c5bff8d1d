#include "simulate/table_arbiter.h"

#include <limits>
#include <optional>

template class ripeline::core::RuleArbiter<ripeline::simulate::ProgramRules>;

namespace ripeline::simulate {

ProgramRules::ProgramRules(const spec::Program& program, const core::ProgramFacts& facts, int rank)
    : program_(&program),
      facts_(&facts),
      first_lane_(facts.lanes_of(rank).first),
      priorities_(program, rank) {
  for (std::size_t pool = 0; pool < facts.pools.size(); ++pool) {
    if (facts.pools[pool].rank == rank) pools_.push_back(static_cast<int>(pool));
  }
  for (core::LaneId lane = first_lane_; lane < facts.lanes_of(rank).end; ++lane) {
    const auto first = static_cast<std::uint32_t>(uses_.size());
    for (const core::UseFacts& use : facts.uses_of(lane)) {
      const std::optional<core::Room> room = facts.room(use);
      uses_.push_back(
          {.pool = static_cast<int>(place_of(use.pool)),
           .acquires = use.acquires,
           .releases = use.releases,
           .most = room ? room->most_held() : std::numeric_limits<std::int64_t>::max()});
    }
    of_lane_.push_back({first, static_cast<std::uint32_t>(uses_.size())});
  }
}

core::Status ProgramRules::write_order(int rank, int microbatches, core::OrderWriter& order) const {
  const spec::Dispatch& dispatch = program_->dispatch;
  const bool binds = dispatch.binding() >= 0;
  const spec::Order& its = at(program_->orders, binds ? dispatch.binding() : dispatch.hint.order);
  const auto tasks = spec::expand(*program_, its, rank, microbatches);
  if (!tasks.ok()) {
    if (!binds) return {};  // a hint may follow a bad order, and then no task is next
    return {core::StatusCode::invalid,
            program_->name + ": order " + its.name + ": " + tasks.errors().front().message};
  }
  for (const spec::Task& task : tasks.value()) order.add(task);
  return {};
}

}  // namespace ripeline::simulate
