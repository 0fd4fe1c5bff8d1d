#include "spec/program.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ripeline::spec {
namespace {

const char* name_of(Hint::Rule rule) {
  switch (rule) {
    case Hint::Rule::none:
      return "none";
    case Hint::Rule::prefer:
      return "prefer";
    case Hint::Rule::rounds:
      return "rounds";
    case Hint::Rule::order:
      return "order";
  }
  return "";
}

std::string canonical(const Hint& hint) {
  return fmt::format("hint {} {} [{}] fill [{}] order {}\n", hint.name, name_of(hint.rule),
                     fmt::join(hint.ops, " "), fmt::join(hint.fill, " "), hint.order);
}

std::string canonical(const Lane& lane) {
  std::string text = fmt::format("lane {} {} {} {} {} {} [{}] [{}]", lane.op, lane.stage, lane.rank,
                                 lane.chunk, lane.sequential, static_cast<int>(lane.engine),
                                 fmt::join(lane.edges, " "), fmt::join(lane.feeds, " "));
  for (const Acquire& a : lane.acquires) {
    text += fmt::format(" +{}:{},{}", a.pool, a.amount, a.leaving);
  }
  for (const Release& r : lane.releases) text += fmt::format(" -{}:{}", r.pool, r.amount);
  return text + "\n";
}

std::string canonical(const Order& order) {
  std::string text = fmt::format("order {} {}\n", order.name, order.supported);
  for (const OrderLet& let : order.lets) {
    text += fmt::format("let {} = {}\n", let.name, print(let.value));
  }
  for (const OrderRepeat& repeat : order.repeats) {
    text += "repeat";
    for (const OrderStep& step : repeat.steps) {
      text += fmt::format(" {}@{}", step.op, step.chunk ? "(" + print(*step.chunk) + ")" : "");
    }
    text += fmt::format(" * {}\n", print(repeat.count));
  }
  return text;
}

// The shape: what there is, before what is done with it.
std::string canonical_shape(const Program& program) {
  std::string text =
      fmt::format("program {}\nmicrobatches {} {}\nranks {}\n", program.name,
                  program.microbatches.min, program.microbatches.max.value_or(0), program.ranks);
  for (const Op& op : program.ops) {
    text += fmt::format("op {} {} {} {}\n", op.name, static_cast<int>(op.kind), op.sequential,
                        static_cast<int>(op.engine));
  }
  for (const Stage& stage : program.stages) {
    text += fmt::format("stage {} {} [{}] [{}]\n", stage.rank, stage.chunk,
                        fmt::join(stage.prev, " "), fmt::join(stage.next, " "));
  }
  for (const Resource& resource : program.resources) {
    text += fmt::format("resource {} {} {}\n", resource.name, resource.unit, resource.per_rank);
  }
  for (const Pool& pool : program.pools) {
    text += fmt::format("pool {} {} {} {}\n", pool.resource, pool.rank, pool.stage,
                        pool.capacity.value_or(0));
  }
  return text;
}

std::string canonical(const Program& program) {
  std::string text = canonical_shape(program);
  for (const Lane& lane : program.lanes) text += canonical(lane);
  for (const Edge& edge : program.edges) {
    text += fmt::format("edge {} {}\n", edge.producer, edge.consumer);
  }
  for (const Order& order : program.orders) text += canonical(order);
  for (const Hint& hint : program.hints) text += canonical(hint);
  text += fmt::format("dispatch {} {} ", program.dispatch.in_order, program.dispatch.order) +
          canonical(program.dispatch.hint);
  for (const PeakAssertion& assertion : program.assertions) {
    text += fmt::format("assert {} {}\n", assertion.resource, print(assertion.bound));
  }
  for (const Unsupported& u : program.unsupported) {
    text += fmt::format("unsupported {}\n", u.construct);
  }
  return text;
}

}  // namespace

int Program::first_lane(int rank) const {
  const auto it = std::partition_point(lanes.begin(), lanes.end(),
                                       [rank](const Lane& lane) { return lane.rank < rank; });
  return static_cast<int>(it - lanes.begin());
}

int Program::lane_of(int op, int stage) const {
  const Stage& at_stage = at(stages, stage);
  const auto before = [&](const Lane& lane) {
    if (lane.rank != at_stage.rank) return lane.rank < at_stage.rank;
    if (lane.chunk != at_stage.chunk) return lane.chunk < at_stage.chunk;
    return lane.op < op;
  };
  const auto it = std::partition_point(lanes.begin(), lanes.end(), before);
  const bool found = it != lanes.end() && it->stage == stage && it->op == op;
  return found ? static_cast<int>(it - lanes.begin()) : -1;
}

int Program::chunks(int rank) const {
  return static_cast<int>(std::count_if(stages.begin(), stages.end(),
                                        [rank](const Stage& stage) { return stage.rank == rank; }));
}

std::string Program::lane_name(int lane) const {
  const Lane& l = at(lanes, lane);
  return fmt::format("{}{}", l.stage, at(ops, l.op).name);
}

std::string Program::task_name(int lane, int microbatch) const {
  return fmt::format("{}{}", lane_name(lane), microbatch);
}

std::string Program::pool_name(int pool) const {
  const Pool& p = at(pools, pool);
  const std::string& resource = at(resources, p.resource).name;
  return p.stage < 0 ? fmt::format("{} of rank {}", resource, p.rank)
                     : fmt::format("{} of stage {}", resource, p.stage);
}

std::vector<int> ancestors(const Program& program, int lane) {
  std::vector<bool> seen(program.lanes.size(), false);
  std::vector<int> found;
  std::vector<int> open{lane};
  while (!open.empty()) {
    const int consumer = open.back();
    open.pop_back();
    for (const int edge : Program::at(program.lanes, consumer).edges) {
      const int producer = Program::at(program.edges, edge).producer;
      if (seen[static_cast<std::size_t>(producer)]) continue;
      seen[static_cast<std::size_t>(producer)] = true;
      found.push_back(producer);
      open.push_back(producer);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint64_t hash_of(const Program& program) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : canonical(program)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace ripeline::spec
