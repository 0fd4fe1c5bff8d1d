#include "spec/elaborate/groups.h"

#include <algorithm>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

// A count of members or replicas, from 1 to `most`.
std::optional<int> count_of(Work& work, const Expr& expr, std::int64_t most, const char* id,
                            const char* what, const char* of) {
  const auto count = integer_of(work, expr, global_values(work));
  if (!count) return std::nullopt;
  if (*count < 1) {
    work.error(id, fmt::format("{} {} make no {}", *count, what, of), "the fewest is 1", expr.span);
    return std::nullopt;
  }
  if (*count > most) {
    work.error(id, fmt::format("{} {} are too many", *count, what),
               fmt::format("the most is {}", most), expr.span);
    return std::nullopt;
  }
  return static_cast<int>(*count);
}

void read_tensor_parallel(Work& work) {
  const auto& [tensor, span] = work.tensor_parallel;
  if (tensor == nullptr) return;
  const auto members =
      count_of(work, tensor->members, kMostMembers, "tensor-parallel-members", "members", "rank");
  const auto agree =
      std::find(core::kAgreeNames.begin(), core::kAgreeNames.end(), tensor->agree.text);
  if (!members || agree == core::kAgreeNames.end()) return;
  work.program.tensor_parallel = {*members, static_cast<Agree>(agree - core::kAgreeNames.begin()),
                                  span};
}

void read_data_parallel(Work& work) {
  const auto& [data, span] = work.data_parallel;
  if (data == nullptr) return;
  const auto replicas = count_of(work, data->replicas, kMostReplicas, "data-parallel-replicas",
                                 "replicas", "program");
  if (replicas) work.program.data_parallel = {*replicas, span};
}

}  // namespace

void read_groups(Work& work) {
  read_tensor_parallel(work);
  read_data_parallel(work);
}

// Reports one error of each kind only, since an error concerns an op at all of its stages.
void check_reductions(Work& work) {
  const Program& program = work.program;
  const auto op_of = [&](int lane) -> const Op& {
    return at(program.ops, at(program.lanes, lane).op);
  };
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (!program.reduces(lane)) continue;
    const Lane& own = at(program.lanes, lane);
    if (own.collectives > 0) {
      work.error("reduce-collectives",
                 fmt::format("{} is a collective among replicas, and has some among members",
                             program.lane_name(lane)),
                 "members reduce in an op of their own", op_of(lane).span);
      return;
    }
    for (int other = program.first_lane(own.rank); other < program.first_lane(own.rank + 1);
         ++other) {
      if (at(program.lanes, other).engine != own.engine || program.reduces(other)) continue;
      work.error(
          "reduce-engine",
          fmt::format("{} waits for the other replicas, and would keep {} from {}",
                      program.lane_name(lane), name_of(own.engine), program.lane_name(other)),
          own.engine == Engine::comm
              ? fmt::format("`on comm` are reductions only: run {} elsewhere", op_of(other).name)
              : fmt::format("write `on comm` in op {}", op_of(lane).name),
          op_of(lane).span);
      return;
    }
  }
}

}  // namespace ripeline::spec::elaboration
