#include "spec/elaborate/pairs.h"

#include <algorithm>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

// The pair's cost on the rank; nullopt after reporting an error.
std::optional<Rational> cost_on(Work& work, const ast::Pair& written, const Pair& pair, int rank) {
  Values values = global_values(work);
  set_rank(values, work, rank);
  const std::string where = fmt::format(", on rank {}", rank);
  const std::optional<Rational> cost = value_of(work, *written.cost, values, where);
  if (!cost) return std::nullopt;
  const Program& program = work.program;
  for (int lane = program.first_lane(rank); lane < program.first_lane(rank + 1); ++lane) {
    const Lane& l = at(program.lanes, lane);
    if (l.op != pair.first && l.op != pair.second) continue;
    if (!less(*cost, l.cost.each)) continue;
    work.error("pair-cost",
               fmt::format("the pair takes less than {} alone{}", program.lane_name(lane), where),
               "the cost of a pair is that of both together: at least that of each",
               written.cost->span);
    return std::nullopt;
  }
  return cost;
}

// Whether an op's cost varies, which is an error since a pair must take one time on each rank.
bool varies(const Program& program, int op) {
  return std::any_of(program.lanes.begin(), program.lanes.end(),
                     [op](const Lane& lane) { return lane.op == op && lane.cost.varies(); });
}

std::optional<Pair> pair_of(Work& work, const TreeNode<ast::Pair>& written) {
  const ast::Pair& node = *written.node;
  Pair pair{.first = work.find_op(node.first.text),
            .second = work.find_op(node.second.text),
            .span = written.span};
  if (pair.first == pair.second) {
    work.error("pair-of-one", fmt::format("'{}' stands beside itself", node.first.text),
               "a pair is of two ops: an engine runs one task of each", node.second.span);
    return std::nullopt;
  }
  const Program& program = work.program;
  if (at(program.ops, pair.first).engine != at(program.ops, pair.second).engine) {
    work.error(
        "pair-engines",
        fmt::format("{} and {} have engines of their own", node.first.text, node.second.text),
        "engines run beside each other without a pair: remove it", written.span);
    return std::nullopt;
  }
  for (const Pair& other : program.pairs) {
    const bool same = (other.first == pair.first && other.second == pair.second) ||
                      (other.first == pair.second && other.second == pair.first);
    if (!same) continue;
    work.error("duplicate-pair",
               fmt::format("{} and {} are a pair already", node.first.text, node.second.text),
               "give it once", written.span);
    return std::nullopt;
  }
  for (const int op : {pair.first, pair.second}) {
    if (!varies(program, op)) continue;
    work.error("pair-cost",
               fmt::format("tasks of {} take different times, by their microbatches",
                           at(program.ops, op).name),
               "the ops of a pair have costs that do not name m", written.span);
    return std::nullopt;
  }
  for (int rank = 0; node.cost && rank < program.ranks; ++rank) {
    const std::optional<Rational> cost = cost_on(work, node, pair, rank);
    if (!cost) return std::nullopt;
    pair.costs.push_back(*cost);
  }
  return pair;
}

// Whether a task of the pair sends by rendezvous. If such a task ended beside the other task, its
// engine would hand the message over and take no task; so an end would keep tasks from starting.
bool hands_over(const Program& program, const Pair& pair) {
  return std::any_of(program.edges.begin(), program.edges.end(), [&](const Edge& edge) {
    const int op = at(program.lanes, edge.producer).op;
    return edge.rendezvous && (op == pair.first || op == pair.second);
  });
}

// Whether the pair's collectives among replicas would meet in an order that nothing fixes.
bool reduces(const Program& program, const Pair& pair) {
  return program.data_parallel.replicas > 1 && at(program.ops, pair.first).kind == OpKind::reduce;
}

}  // namespace

void make_pairs(Work& work) {
  for (const auto& written : work.pairs) {
    std::optional<Pair> pair = pair_of(work, written);
    if (!pair) continue;
    // The collectives of a pair would meet in an order that nothing fixes.
    if (work.program.tensor_parallel.members > 1) {
      work.unsupported("pair with tensor_parallel", written.span);
    }
    if (reduces(work.program, *pair)) {
      work.unsupported("pair of reductions", written.span);
    }
    if (hands_over(work.program, *pair)) {
      work.unsupported("pair that sends by rendezvous", written.span);
    }
    work.program.pairs.push_back(std::move(*pair));
  }
}

}  // namespace ripeline::spec::elaboration
