#include "runtime/protocol/neighbours.h"

#include <algorithm>
#include <utility>

#include "runtime/protocol/tree.h"

namespace ripeline::runtime::protocol {

std::vector<int> united(std::vector<int> some, const std::vector<int>& others) {
  some.insert(some.end(), others.begin(), others.end());
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

std::vector<int> tree_neighbours(int self, int processes) {
  std::vector<int> all = children_of(self, processes);
  if (self > 0) all.insert(all.begin(), parent_of(self));
  return all;
}

namespace {

std::vector<int> other_members(int self, const core::Layout& layout) {
  std::vector<int> all;
  core::Coordinates of = layout.at(self);
  for (of.member = 0; of.member < layout.members; ++of.member) {
    if (layout.process(of) != self) all.push_back(layout.process(of));
  }
  return all;
}

std::vector<int> other_replicas(int self, const core::Layout& layout) {
  std::vector<int> all;
  core::Coordinates of = layout.at(self);
  for (of.replica = 0; of.replica < layout.replicas; ++of.replica) {
    if (layout.process(of) != self) all.push_back(layout.process(of));
  }
  return all;
}

}  // namespace

std::vector<int> partners_of(int self, const core::Layout& layout,
                             const core::ProgramFacts& facts) {
  return united(other_replicas(self, layout),
                facts.collectives.empty() ? std::vector<int>() : other_members(self, layout));
}

std::vector<int> agreeing_with(int self, const core::Layout& layout,
                               const core::ProgramFacts& facts, core::Engine engine) {
  switch (facts.agreeing(layout.at(self).rank, engine).who) {
    case core::Agreeing::Who::members:
      return other_members(self, layout);
    case core::Agreeing::Who::replicas:
      return other_replicas(self, layout);
    case core::Agreeing::Who::nobody:
      break;
  }
  return {};
}

std::vector<int> neighbours_of(int self, const core::Layout& layout,
                               const core::ProgramFacts& facts) {
  std::vector<int> all = partners_of(self, layout, facts);
  const auto process_of = [&](core::LaneId lane) {
    return layout.of_rank(self, facts.lanes[static_cast<std::size_t>(lane)].rank);
  };
  for (const core::EdgeFacts& edge : facts.edges) {
    const int from = process_of(edge.producer);
    const int to = process_of(edge.consumer);
    if (from == to) continue;
    if (from == self) all.push_back(to);
    if (to == self) all.push_back(from);
  }
  return united(std::move(all), tree_neighbours(self, layout.processes()));
}

}  // namespace ripeline::runtime::protocol
