#include "spec/program.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/long_work.h"
#include "spec/order_runs.h"

namespace ripeline::spec {
namespace {

std::string canonical(const HintPlace& place) {
  std::string text = std::to_string(place.op);
  if (!place.chunk.empty()) text += fmt::format("@{}", fmt::join(place.chunk, ","));
  if (place.priority) text += "=" + print(*place.priority);
  return text;
}

std::string canonical(const std::vector<HintPlace>& places) {
  std::vector<std::string> texts;
  for (const HintPlace& place : places) texts.push_back(canonical(place));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string canonical(const Hint& hint) {
  std::string text =
      fmt::format("hint {} {} [{}] fill [{}] order {}", hint.name, core::name_of(hint.rule),
                  canonical(hint.places), canonical(hint.fill), hint.order);
  if (hint.patience) {
    const Rational& p = hint.patience->patience;
    const Rational& y = hint.patience->yield;
    text += fmt::format(" patience {}/{} yield {}/{}{}", p.numerator, p.denominator, y.numerator,
                        y.denominator, hint.patience->forecasts ? " forecasts" : "");
    if (hint.patience->learns) text += " learns";
  }
  return text + "\n";
}

std::string canonical(const Lane& lane) {
  std::string text = fmt::format("lane {} {} {} {} {} {} [{}] [{}]", lane.op, lane.stage, lane.rank,
                                 lane.chunk, lane.sequential, static_cast<int>(lane.engine),
                                 fmt::join(lane.edges, " "), fmt::join(lane.feeds, " "));
  if (lane.once) text += " once";
  if (!lane.share.is_all()) {
    text += fmt::format(" where {}:{:x}", lane.share.period, lane.share.remainders);
    for (int i = 0; lane.share.is_long() && i < lane.share.word_count(); ++i) {
      text += fmt::format(" {:x}", lane.share.words[i].bits);
    }
  }
  if (lane.collectives > 0) text += fmt::format(" collectives {}", lane.collectives);
  for (const Acquire& a : lane.acquires) {
    text += fmt::format(" +{}:{},{}", a.pool, a.amount, a.leaving);
  }
  for (const Release& r : lane.releases) text += fmt::format(" -{}:{}", r.pool, r.amount);
  return text + "\n";
}

std::string canonical(const Edge& edge) {
  std::string text = fmt::format("edge {} {}", edge.producer, edge.consumer);
  if (edge.of != Of::same) text += edge.of == Of::all ? " of all" : " of before";
  if (edge.inbox >= 0) text += fmt::format(" inbox {}", edge.inbox);
  if (edge.fifo) text += " fifo";
  if (edge.rendezvous) text += " rendezvous";
  return text + "\n";
}

std::string canonical(const OrderStep& step) {
  if (step.stream >= 0) return fmt::format(" stream {}", step.stream);
  return fmt::format(" {}@{}", step.op, step.chunk ? "(" + print(*step.chunk) + ")" : "");
}

std::string canonical(const OrderRepeat& repeat) {
  std::string text;
  for (const OrderStep& step : repeat.steps) text += canonical(step);
  return text + fmt::format(" * {}", print(repeat.count));
}

std::string canonical(const OrderPart& part) {
  std::string text;
  for (const OrderLoop& loop : part.loops) {
    text += fmt::format(" {} in {} {} {}", loop.variable, print(loop.first),
                        loop.exclusive ? "..<" : "..", print(loop.last));
  }
  text += " :";
  for (const OrderRepeat& repeat : part.repeats) text += canonical(repeat);
  return text;
}

std::string canonical(const Order& order) {
  std::string text = fmt::format("order {} {}\n", order.name, !order.file);
  for (const OrderLet& let : order.lets) {
    text += fmt::format("let {} = {}\n", let.name, print(let.value));
  }
  for (const OrderStream& stream : order.streams) {
    text += "stream";
    for (const OrderPart& part : stream.parts) text += canonical(part);
    text += "\n";
  }
  for (const OrderRepeat& repeat : order.repeats) {
    text += repeat.rank < 0 ? "repeat" : fmt::format("rank {} repeat", repeat.rank);
    text += canonical(repeat) + "\n";
  }
  for (const std::vector<Task>& row : order.rows) {
    text += "row";
    for (const Task& task : row) text += fmt::format(" {}.{}", task.lane, task.microbatch);
    text += "\n";
  }
  return text;
}

// The structure of a program as text; other texts describe what each part does.
std::string canonical_shape(const Program& program) {
  std::string text =
      fmt::format("program {}\nmicrobatches {} {}\nranks {}\n", program.name,
                  program.microbatches.min, program.microbatches.max.value_or(0), program.ranks);
  if (program.inputs == InputOrder::pyramid) text += "inputs pyramid\n";
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
  for (const Edge& edge : program.edges) text += canonical(edge);
  for (const Inbox& inbox : program.inboxes) {
    text += fmt::format("inbox {} {} {} {}\n", inbox.channel, inbox.rank, inbox.stage, inbox.slots);
  }
  if (program.tensor_parallel.members > 1) {
    text += fmt::format("members {} {}\n", program.tensor_parallel.members,
                        static_cast<int>(program.tensor_parallel.agree));
  }
  if (program.data_parallel.replicas > 1) {
    text += fmt::format("replicas {}\n", program.data_parallel.replicas);
  }
  for (const Order& order : program.orders) text += canonical(order);
  for (const Hint& hint : program.hints) text += canonical(hint);
  text += fmt::format("dispatch {} {} ", program.dispatch.in_order, program.dispatch.order) +
          canonical(program.dispatch.hint);
  if (program.dispatch.keeps >= 0) text += fmt::format("keeping {}\n", program.dispatch.keeps);
  for (const Pair& pair : program.pairs) {
    text += fmt::format("pair {} {}\n", pair.first, pair.second);
  }
  for (const PeakAssertion& assertion : program.assertions) {
    text += fmt::format("assert {} {}\n", assertion.resource, print(assertion.bound));
  }
  for (const Unsupported& u : program.unsupported) {
    text += fmt::format("unsupported {}\n", u.construct);
  }
  return text;
}

}  // namespace

bool HintPlace::operator==(const HintPlace& other) const {
  return op == other.op && chunk == other.chunk &&
         priority.has_value() == other.priority.has_value() &&
         (!priority || same(*priority, *other.priority));
}

bool HintPlace::tells_apart() const {
  if (!priority) return false;
  const auto names = names_in(*priority);
  return std::find(names.begin(), names.end(), "m") != names.end();
}

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
  return fmt::format("{}{}", lane_name(lane), microbatch_of(lane, microbatch));
}

std::string Program::pool_name(int pool) const {
  const Pool& p = at(pools, pool);
  const std::string& resource = at(resources, p.resource).name;
  return p.stage < 0 ? fmt::format("{} of rank {}", resource, p.rank)
                     : fmt::format("{} of stage {}", resource, p.stage);
}

std::string Program::inbox_name(int inbox) const {
  const Inbox& box = at(inboxes, inbox);
  if (!box.channel.empty()) {
    return box.stage < 0 ? fmt::format("{} of rank {}", box.channel, box.rank)
                         : fmt::format("{} of stage {}", box.channel, box.stage);
  }
  for (const Edge& e : edges) {
    if (e.inbox != inbox) continue;
    return fmt::format("the slots from {} to {}", lane_name(e.producer), lane_name(e.consumer));
  }
  return {};
}

const Pair* Program::pair_of(int lane, int other) const {
  if (pairs.empty()) return nullptr;
  const Lane& a = at(lanes, lane);
  const Lane& b = at(lanes, other);
  if (a.rank != b.rank || a.engine != b.engine) return nullptr;
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    return (pair.first == a.op && pair.second == b.op) ||
           (pair.first == b.op && pair.second == a.op);
  });
  return found == pairs.end() ? nullptr : &*found;
}

double Program::slowdown(int lane, int other) const {
  const Lane& own = at(lanes, lane);
  const double alone = own.cost.each.value();
  if (alone == 0) return 1;
  const Pair& pair = *pair_of(lane, other);
  const double both = pair.costs.empty() ? alone + at(lanes, other).cost.each.value()
                                         : at(pair.costs, own.rank).value();
  return both / alone;
}

std::vector<Use> uses_of(const Lane& lane) {
  std::vector<Use> uses;
  for (const Acquire& a : lane.acquires) {
    uses.push_back({.pool = a.pool, .acquires = a.amount, .leaving = a.leaving});
  }
  for (const Release& r : lane.releases) {
    const auto same =
        std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.pool == r.pool; });
    if (same == uses.end()) {
      uses.push_back({.pool = r.pool, .releases = r.amount});
    } else {
      same->releases = r.amount;
    }
  }
  return uses;
}

std::optional<std::int64_t> asserted_bound(const Program& program, const PeakAssertion& assertion,
                                           const Pool& pool, int microbatches) {
  const auto value =
      evaluate(assertion.bound, [&](std::string_view name) -> std::optional<Rational> {
        if (name == "r") return Rational{pool.rank, 1};
        if (name == "s" && pool.stage >= 0) return Rational{pool.stage, 1};
        if (name == "chunks") return Rational{program.chunks(pool.rank), 1};
        if (name == "microbatches") return Rational{microbatches, 1};
        return std::nullopt;
      });
  if (!value.ok() || !value.value().is_integer()) return std::nullopt;
  return value.value().numerator;
}

std::vector<int> ancestors(const Program& program, int lane) {
  std::vector<bool> seen(program.lanes.size(), false);
  std::vector<int> found;
  std::vector<int> open{lane};
  while (!open.empty()) {
    const int consumer = open.back();
    open.pop_back();
    for (const int edge : at(program.lanes, consumer).edges) {
      const Edge& e = at(program.edges, edge);
      const int producer = e.producer;
      if (e.of == Of::before || seen[static_cast<std::size_t>(producer)]) continue;
      // If shares differ, a task may need nothing, and equal numbers mean different microbatches.
      const Share& share = at(program.lanes, consumer).share;
      if (at(program.lanes, producer).share != share) continue;
      seen[static_cast<std::size_t>(producer)] = true;
      found.push_back(producer);
      open.push_back(producer);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool has_other_engines(const Program& program) {
  return std::any_of(program.lanes.begin(), program.lanes.end(),
                     [](const Lane& lane) { return lane.engine != Engine::compute; });
}

bool runs_side_by_side(const Program& program) {
  return has_other_engines(program) || !program.pairs.empty();
}

std::vector<Unsupported> features_of(const Program& program) {
  std::vector<Unsupported> found;
  const auto add = [&](bool used, std::string_view construct, Span span) {
    const bool listed = std::any_of(found.begin(), found.end(),
                                    [&](const Unsupported& u) { return u.construct == construct; });
    if (used && !listed) found.push_back({std::string(construct), span});
  };
  add(program.tensor_parallel.members > 1, "tensor_parallel", program.tensor_parallel.span);
  add(program.data_parallel.replicas > 1, "data_parallel", program.data_parallel.span);
  add(program.dispatch.keeps >= 0, "keeping", program.dispatch.span);
  for (const Pair& pair : program.pairs) add(true, "pair", pair.span);
  for (const Lane& lane : program.lanes) {
    const Op& op = at(program.ops, lane.op);
    add(lane.once, "once", op.span);
    add(!lane.share.is_all(), "on m where", op.span);
    add(lane.engine != Engine::compute, fmt::format("engine {}", name_of(lane.engine)), op.span);
  }
  for (const Edge& edge : program.edges) {
    add(edge.of == Of::before, "needs of", edge.span);
    add(edge.of == Of::all, "needs of all", edge.span);
    add(edge.rendezvous, "link rendezvous", edge.span);
    add(edge.fifo, "link fifo", edge.span);
    if (edge.inbox < 0 || edge.fifo) continue;
    const bool channel = !at(program.inboxes, edge.inbox).channel.empty();
    add(true, channel ? "channel" : "link slots", edge.span);
  }
  return found;
}

Result<std::vector<Task>> expand(const Program& program, const Order& order, int rank,
                                 int microbatches) {
  stop_point();
  const auto r = static_cast<std::size_t>(rank);
  if (order.file) return r < order.rows.size() ? order.rows[r] : std::vector<Task>{};
  const std::vector<int> stages = stages_by_rank(program)[r];
  ExpansionWork work{kMostOrderTasks, false};
  const Result<std::vector<OrderRun>> runs =
      expand_runs(program, order, rank, microbatches, stages, work);
  if (!runs.ok()) return runs.errors();
  const int first = program.first_lane(rank);
  std::vector<int> next(static_cast<std::size_t>(program.first_lane(rank + 1) - first), 0);
  std::vector<Task> tasks;
  for (const OrderRun& run : runs.value()) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      for (const int lane : run.lanes) {
        tasks.push_back({lane, next[static_cast<std::size_t>(lane - first)]++});
      }
    }
  }
  return tasks;
}

std::uint64_t hash_of(std::string_view bytes, std::uint64_t before) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  std::uint64_t hash = before;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

std::uint64_t hash_of(const Program& program) { return hash_of(canonical(program)); }

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace ripeline::spec
