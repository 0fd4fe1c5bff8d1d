#include "runtime/torch/communicator.h"

#include <algorithm>

namespace ripeline::runtime {
namespace {

bool is_planned(const std::vector<CommunicatorPlan>& plans, CommunicatorPlan::Among among,
                core::Engine engine) {
  return std::any_of(plans.begin(), plans.end(), [&](const CommunicatorPlan& plan) {
    return plan.among == among && plan.engine == engine;
  });
}

}  // namespace

std::vector<CommunicatorPlan> plan_communicators(const core::Layout& layout, int process,
                                                 const core::ProgramFacts& facts) {
  const core::Coordinates self = layout.at(process);
  std::vector<CommunicatorPlan> plans;
  const core::LaneSpan own = facts.lanes_of(self.rank);
  for (core::LaneId lane = own.first; lane < own.end; ++lane) {
    const core::LaneFacts& of = facts.lanes[static_cast<std::size_t>(lane)];
    const std::string on =
        " of rank " + std::to_string(self.rank) + " on " + core::name_of(of.engine);
    const bool is_collective =
        std::count(facts.collectives.begin(), facts.collectives.end(), lane) > 0;
    if (is_collective && !is_planned(plans, CommunicatorPlan::Among::members, of.engine)) {
      plans.push_back({.among = CommunicatorPlan::Among::members,
                       .engine = of.engine,
                       .name = "the members of replica " + std::to_string(self.replica) + on,
                       .self = self.member,
                       .size = layout.members});
    }
    const bool reduces = facts.replicas > 1 &&
                         facts.ops[static_cast<std::size_t>(of.op)].kind == core::OpKind::reduce;
    if (reduces && !is_planned(plans, CommunicatorPlan::Among::replicas, of.engine)) {
      plans.push_back({.among = CommunicatorPlan::Among::replicas,
                       .engine = of.engine,
                       .name = "the replicas of member " + std::to_string(self.member) + on,
                       .self = self.replica,
                       .size = layout.replicas});
    }
  }
  return plans;
}

}  // namespace ripeline::runtime
