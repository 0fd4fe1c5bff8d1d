#include "codegen/outline.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "core/vocabulary/index.h"
#include "spec/guards.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// Checks that a resource's pools are in the order of stages or ranks, since tables rely on this.
void check_pools(const Program& program) {
  for (std::size_t i = 0, first = 0; i < program.pools.size(); ++i) {
    const spec::Pool& pool = program.pools[i];
    if (i > 0 && pool.resource != program.pools[i - 1].resource) first = i;
    const bool per_rank = at(program.resources, pool.resource).per_rank;
    if (index(per_rank ? pool.rank : pool.stage) == i - first) continue;
    std::fputs("ripeline: a bug: the pools of a resource are not in order\n", stderr);
    std::abort();
  }
}

std::optional<std::int64_t> same(const std::vector<std::int64_t>& values) {
  const bool all = std::all_of(values.begin(), values.end(),
                               [&](std::int64_t value) { return value == values.front(); });
  return all && !values.empty() ? std::optional(values.front()) : std::nullopt;
}

std::vector<BoundedResource> bounded_of(const Program& program) {
  std::set<int> acquired;
  for (const spec::Lane& lane : program.lanes) {
    for (const spec::Acquire& a : lane.acquires)
      acquired.insert(at(program.pools, a.pool).resource);
  }
  std::vector<BoundedResource> bounded;
  for (const int resource : acquired) {
    const std::string& name = at(program.resources, resource).name;
    const char* by = at(program.resources, resource).per_rank ? "rank" : "stage";
    BoundedResource b{.resource = resource,
                      .name = name,
                      .held = fmt::format("held[kPool_{} + lane.{}]", name, by),
                      .capacity = {.table = "kCapacity_" + name,
                                   .comment = fmt::format("The capacity of {}, by {}.", name, by),
                                   .index = fmt::format("[lane.{}]", by)}};
    for (int i = 0; i < size_of(program.pools); ++i) {
      const spec::Pool& pool = at(program.pools, i);
      if (pool.resource != resource || !pool.capacity) continue;
      if (b.capacity.values.empty()) b.first_pool = i;
      b.capacity.values.push_back(*pool.capacity);
    }
    b.capacity.same = same(b.capacity.values);
    if (!b.capacity.values.empty()) bounded.push_back(std::move(b));
  }
  return bounded;
}

// The op's use of the pool's resource; null if the resource has no capacity.
Use* use_of(Outline& outline, int op, int pool) {
  const int resource = at(outline.program.pools, pool).resource;
  const auto bounded =
      std::find_if(outline.bounded.begin(), outline.bounded.end(),
                   [&](const BoundedResource& b) { return b.resource == resource; });
  if (bounded == outline.bounded.end()) return nullptr;
  std::vector<Use>& uses = at(outline.uses, op);
  const auto known = std::find_if(uses.begin(), uses.end(),
                                  [&](const Use& use) { return use.bounded == &*bounded; });
  if (known != uses.end()) return &*known;
  Use& use = uses.emplace_back(Use{.bounded = &*bounded});
  for (Numbers* numbers : {&use.amount, &use.leaving, &use.released}) {
    numbers->values.assign(outline.program.stages.size(), 0);
  }
  return &use;
}

// Names the table, and finds whether the number is the same at all stages that have `op`.
void complete(Numbers& numbers, const Program& program, int op, std::string table,
              std::string comment) {
  std::vector<std::int64_t> there;
  for (int stage = 0; stage < size_of(numbers.values); ++stage) {
    if (program.lane_of(op, stage) >= 0) there.push_back(at(numbers.values, stage));
  }
  numbers.table = std::move(table);
  numbers.comment = std::move(comment);
  numbers.index = "[lane.stage]";
  numbers.same = same(there);
}

void complete_uses(Outline& outline) {
  std::set<std::string> taken;
  for (int op = 0; op < size_of(outline.uses); ++op) {
    const std::string& name = at(outline.program.ops, op).name;
    for (Use& use : at(outline.uses, op)) {
      const std::string& resource = use.bounded->name;
      // The two names joined. A number is added if another pair of names joins to the same text.
      const std::string joined = name + "_" + resource;
      std::string pair = joined;
      for (int n = 2; !taken.insert(pair).second; ++n) pair = fmt::format("{}_{}", joined, n);
      complete(use.amount, outline.program, op, "kAmount_" + pair,
               fmt::format("The amount of {} that {} acquires, by stage.", resource, name));
      complete(use.leaving, outline.program, op, "kLeaving_" + pair,
               fmt::format("The room in {} that {} leaves, by stage.", resource, name));
      complete(use.released, outline.program, op, "kRelease_" + pair,
               fmt::format("The amount of {} that {} releases, by stage.", resource, name));
    }
  }
}

}  // namespace

Outline outline_of(const Program& program) {
  check_pools(program);
  Outline outline{program, bounded_of(program), std::vector<std::vector<Use>>(program.ops.size())};
  for (int i = 0; i < size_of(program.lanes); ++i) {
    const spec::Lane& lane = at(program.lanes, i);
    for (const spec::RoomGuard& guard : guards_of(program, i).rooms) {
      Use* use = use_of(outline, lane.op, guard.pool);
      at(use->amount.values, lane.stage) = guard.room.amount;
      at(use->leaving.values, lane.stage) = guard.room.leaving;
    }
    for (const spec::Release& release : lane.releases) {
      Use* use = use_of(outline, lane.op, release.pool);
      if (use != nullptr) at(use->released.values, lane.stage) = release.amount;
    }
  }
  complete_uses(outline);
  return outline;
}

int dispatched_order(const Program& program) {
  const spec::Dispatch& dispatch = program.dispatch;
  if (dispatch.binding() >= 0) return dispatch.binding();
  return dispatch.hint.rule == spec::Hint::Rule::order ? dispatch.hint.order : -1;
}

std::string op_constant(const Program& program, int op) {
  return "ops::k" + at(program.ops, op).name;
}

std::vector<int> chunk_counts(const Program& program) {
  std::vector<int> counts;
  for (int rank = 0; rank < program.ranks; ++rank) counts.push_back(program.chunks(rank));
  return counts;
}

spec::Expr with_chunks(const Program& program, const spec::Expr& expr) {
  const std::vector<int> counts = chunk_counts(program);
  const bool is_same = std::equal(counts.begin() + 1, counts.end(), counts.begin());
  return fold(expr, [&](std::string_view name) -> std::optional<spec::Rational> {
    if (name != "chunks" || !is_same) return std::nullopt;
    return spec::Rational{counts.front(), 1};
  });
}

}  // namespace ripeline::codegen
