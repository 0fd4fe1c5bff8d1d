#include "spec/priority.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace ripeline::spec {
namespace {

// The expression, with values in place of the names that are fixed for the lane before the run.
Expr folded(const Program& program, const Lane& lane, const Expr& expr) {
  return fold(expr, [&](std::string_view name) -> std::optional<Rational> {
    if (name == "s") return Rational{lane.stage, 1};
    if (name == "r") return Rational{lane.rank, 1};
    if (name == "chunk") return Rational{lane.chunk, 1};
    if (name == "chunks") return Rational{program.chunks(lane.rank), 1};
    return std::nullopt;
  });
}

}  // namespace

int pool_of(const Program& program, int resource, const Lane& lane) {
  for (int pool = 0; pool < static_cast<int>(program.pools.size()); ++pool) {
    const Pool& p = at(program.pools, pool);
    if (p.resource == resource && p.rank == lane.rank && (p.stage < 0 || p.stage == lane.stage)) {
      return pool;
    }
  }
  return -1;
}

Priorities::Priorities(const Program& program, int rank)
    : program_(program), first_lane_(program.first_lane(rank)) {
  for (int lane = first_lane_; lane < program.first_lane(rank + 1); ++lane) {
    const Lane& l = at(program.lanes, lane);
    OfLane of;
    for (const HintPlace& place : program.dispatch.hint.places) {
      if (!place.lists(l) || !place.priority) continue;
      of.value = folded(program, l, *place.priority);
      break;
    }
    for (const std::string& name : names_in(of.value)) {
      for (int resource = 0; resource < static_cast<int>(program.resources.size()); ++resource) {
        if (at(program.resources, resource).name != name) continue;
        of.pools.emplace_back(name, pool_of(program, resource, l));
      }
    }
    lanes_.push_back(std::move(of));
  }
}

std::int64_t Priorities::value(const Task& task, int microbatches,
                               const std::function<std::int64_t(int pool)>& held) const {
  const OfLane& of = at(lanes_, task.lane - first_lane_);
  if (of.value.kind == Expr::Kind::number) return of.value.value.numerator;
  const Result<Rational> value =
      evaluate(of.value, [&](std::string_view name) -> std::optional<Rational> {
        if (name == "m") return Rational{program_.microbatch_of(task.lane, task.microbatch), 1};
        if (name == "microbatches") return Rational{microbatches, 1};
        const auto pool = std::find_if(of.pools.begin(), of.pools.end(),
                                       [&](const auto& p) { return p.first == name; });
        if (pool == of.pools.end()) return std::nullopt;
        return Rational{held(pool->second), 1};
      });
  // Only the hint of a program that was not elaborated may have no value.
  return value.ok() ? value.value().numerator : 0;
}

}  // namespace ripeline::spec
