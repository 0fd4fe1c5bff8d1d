#include "core/held.h"

#include <algorithm>

#include "core/vocabulary/per_rank.h"

namespace ripeline::core {
namespace {

std::string_view declared_unit(const ProgramFacts& facts, std::string_view resource) {
  for (const PoolFacts& pool : facts.pools) {
    if (pool.resource == resource) return pool.unit;
  }
  return {};
}

bool has_several_stages(const ProgramFacts& facts) {
  return std::any_of(facts.lanes.begin(), facts.lanes.end(),
                     [](const LaneFacts& lane) { return lane.chunk > 0; });
}

}  // namespace

bool counts_activations(const ProgramFacts& facts, std::string_view resource) {
  return declared_unit(facts, resource).empty() &&
         std::all_of(facts.uses.begin(), facts.uses.end(), [&](const UseFacts& use) {
           const PoolFacts& pool = facts.pools[static_cast<std::size_t>(use.pool)];
           return pool.resource != resource || use.acquires <= 1;
         });
}

std::string_view unit_of_amounts(const ProgramFacts& facts, std::string_view resource) {
  return unit_of_amounts(declared_unit(facts, resource), counts_activations(facts, resource),
                         has_several_stages(facts));
}

std::vector<double> in_microbatches(const ProgramFacts& facts, int microbatches,
                                    const std::vector<std::int64_t>& per_rank) {
  const std::vector<std::int64_t> forwards =
      tasks_per_rank(facts.lanes, facts.ops, facts.ranks, {OpKind::forward}, microbatches);
  std::vector<double> counted;
  for (std::size_t rank = 0; rank < per_rank.size(); ++rank) {
    counted.push_back(in_microbatches(per_rank[rank], forwards[rank], microbatches));
  }
  return counted;
}

}  // namespace ripeline::core
