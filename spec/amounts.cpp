#include "spec/amounts.h"

#include <algorithm>
#include <vector>

#include "core/vocabulary/per_rank.h"

namespace ripeline::spec {

bool counts_activations(const Program& program, int resource) {
  if (!at(program.resources, resource).unit.empty()) return false;
  return std::all_of(program.lanes.begin(), program.lanes.end(), [&](const Lane& lane) {
    const std::vector<Use> uses = uses_of(lane);
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return at(program.pools, use.pool).resource != resource || use.acquires <= 1;
    });
  });
}

std::string_view unit_of_amounts(const Program& program, int resource) {
  return core::unit_of_amounts(at(program.resources, resource).unit,
                               counts_activations(program, resource),
                               size_of(program.stages) > program.ranks);
}

bool is_split(const Program& program, int resource) {
  std::vector<int> pools(static_cast<std::size_t>(program.ranks), 0);
  return std::any_of(program.pools.begin(), program.pools.end(), [&](const Pool& pool) {
    return pool.resource == resource && ++at(pools, pool.rank) > 1;
  });
}

}  // namespace ripeline::spec
