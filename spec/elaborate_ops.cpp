// Fifth step: ops, lanes and edges, and no cycle among the needs.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/elaborate_internal.h"

namespace ripeline::spec::elaboration {
namespace {

struct KindName {
  const char* words;
  OpKind kind;
};
constexpr std::array kKinds = {
    KindName{"forward", OpKind::forward},
    KindName{"backward", OpKind::backward},
    KindName{"backward input", OpKind::backward_input},
    KindName{"backward weight", OpKind::backward_weight},
    KindName{"reduce", OpKind::reduce},
    KindName{"offload", OpKind::offload},
    KindName{"reload", OpKind::reload},
    KindName{"recompute", OpKind::recompute},
    KindName{"user", OpKind::user},
};

struct EngineName {
  const char* word;
  Engine engine;
};
constexpr std::array kEngines = {EngineName{"compute", Engine::compute},
                                 EngineName{"copy_out", Engine::copy_out},
                                 EngineName{"copy_in", Engine::copy_in}};

// The bounds of what is only listed as unsupported are checked all the same.
void check_positive(Work& work, const Expr& expr, const char* id, const char* what) {
  Values values = global_values(work);
  for (int s = 0; s < static_cast<int>(work.program.stages.size()); ++s) {
    set_stage(values, work, s);
    const auto value = integer_of(work, expr, values, fmt::format(", at stage {}", s));
    if (!value) return;
    if (*value >= 1) continue;
    work.error(id, fmt::format("{} is {} at stage {}", what, *value, s), "the least is 1",
               expr.span);
    return;
  }
}

// The parser accepts these kinds only.
OpKind kind_of(const ast::Op& op) {
  std::string words;
  for (const ast::Name& word : op.kind) words += (words.empty() ? "" : " ") + word.text;
  for (const KindName& known : kKinds) {
    if (known.words == words) return known.kind;
  }
  return OpKind::plain;
}

Engine engine_of(Work& work, const ast::Op& op) {
  if (!op.engine) return Engine::compute;
  Names names;
  for (const EngineName& known : kEngines) {
    if (op.engine->text == known.word) {
      if (known.engine != Engine::compute) {
        work.unsupported(fmt::format("engine {}", known.word), op.engine->span);
      }
      return known.engine;
    }
    names.emplace_back(known.word);
  }
  work.error("op-unknown-engine", fmt::format("no engine is called '{}'", op.engine->text),
             choices("engines", op.engine->text, names), op.engine->span);
  return Engine::compute;
}

void check_link(Work& work, const ast::NeededOp& need) {
  if (!need.via) return;
  const std::string& link = need.via->text;
  if (link == "slots" || link == "fifo") {
    if (need.via_capacity) {
      check_positive(work, *need.via_capacity, "link-capacity", "the link's capacity");
    } else {
      return;  // the default: a slot for every microbatch
    }
    work.unsupported("link " + link, need.via->span);
    return;
  }
  if (link == "rendezvous") {
    if (!work.dispatch.node->in_order) {
      work.error("rendezvous-without-order", "a rendezvous link needs a committed order",
                 "write `dispatch in order NAME;` or use another link", need.via->span);
    }
    work.unsupported("link rendezvous", need.via->span);
    return;
  }
  const int channel = work.find_channel(link);
  if (channel < 0) {
    Names names{"slots", "fifo", "rendezvous"};
    for (const auto& declared : work.channels) names.push_back(declared.node->name.text);
    work.error("via-unknown-link", fmt::format("no link or channel is called '{}'", link),
               choices("links", link, names), need.via->span);
    return;
  }
  work.unsupported("channel", need.via->span);
}

// What can be said of the clauses without a stage.
void check_clauses(Work& work, const ast::Op& op) {
  bool has_cost = false;
  std::set<std::pair<std::string, ast::At>> needed;
  for (const ast::OpClause& clause : op.clauses) {
    if (std::holds_alternative<ast::Cost>(clause.value)) {
      if (has_cost) {
        work.error("duplicate-cost", fmt::format("op '{}' has a second cost", op.name.text),
                   "remove one of them", clause.span);
      }
      has_cost = true;
    } else if (const auto* collectives = std::get_if<ast::Collectives>(&clause.value)) {
      check_positive(work, collectives->count, "collectives-below-one",
                     "the number of collectives");
      work.unsupported("collectives", clause.span);
    } else if (const auto* needs = std::get_if<ast::Needs>(&clause.value)) {
      for (const ast::NeededOp& need : needs->items) {
        check_link(work, need);
        if (need.of_all || need.of) {
          work.unsupported(need.of_all ? "needs of all" : "needs of", need.span);
        } else if (!needed.emplace(need.op.text, need.at).second) {
          work.error("duplicate-need", fmt::format("'{}' is needed there already", need.op.text),
                     "remove one of them", need.span);
        }
      }
    }
  }
}

void make_ops(Work& work) {
  for (const auto& item : work.ops) {
    const ast::Op& op = *item.node;
    const OpKind kind = kind_of(op);
    if (kind == OpKind::reduce) work.unsupported("reduce", op.name.span);
    if (op.once) work.unsupported("once", op.name.span);
    if (op.microbatch_filter) work.unsupported("on m where", op.microbatch_filter->span);
    work.program.ops.push_back(
        {op.name.text, kind, op.sequential, engine_of(work, op), op.name.span});
    check_clauses(work, op);
  }
}

Rational cost_of(Work& work, const ast::Op& op, const Values& values, const std::string& where) {
  for (const ast::OpClause& clause : op.clauses) {
    const auto* cost = std::get_if<ast::Cost>(&clause.value);
    if (cost == nullptr) continue;
    for (const std::string& name : names_in(cost->value)) {
      // It varies with the microbatch: only a profile knows its mean.
      if (name == "m" || name == "input") return {1, 1};
    }
    const auto value = value_of(work, cost->value, values, where);
    if (value && value->numerator < 0) {
      work.error("cost-negative", fmt::format("the cost of {} is negative{}", op.name.text, where),
                 "a cost is 0 or more", cost->value.span);
    }
    return value.value_or(Rational{1, 1});
  }
  return {1, 1};
}

void add_lane(Work& work, int op, int stage, const Values& values) {
  const ast::Op& written = *work.ops[static_cast<std::size_t>(op)].node;
  const std::string where = fmt::format(", at stage {}", stage);
  if (written.when) {
    const auto present = value_of(work, *written.when, values, where);
    if (!present || present->numerator == 0) return;
  }
  const Stage& placed = Program::at(work.program.stages, stage);
  const Op& known = Program::at(work.program.ops, op);
  Lane lane;
  lane.op = op;
  lane.stage = stage;
  lane.rank = placed.rank;
  lane.chunk = placed.chunk;
  lane.sequential = known.sequential;
  lane.engine = known.engine;
  lane.cost = cost_of(work, written, values, where);
  work.program.lanes.push_back(std::move(lane));
}

bool add_lanes(Work& work) {
  Values values = global_values(work);
  for (const std::vector<int>& stages : work.rank_stages) {
    for (const int stage : stages) {
      set_stage(values, work, stage);
      for (int op = 0; op < static_cast<int>(work.ops.size()); ++op) {
        add_lane(work, op, stage, values);
        if (work.program.lanes.size() <= kMostLanes) continue;
        work.error("too-many-lanes", fmt::format("more than {} ops at stages", kMostLanes),
                   "use fewer stages or ops", work.stages.span);
        return false;
      }
    }
  }
  if (work.program.lanes.empty() && !work.failed()) {
    work.error("no-tasks", "no op exists at any stage", "every op's `when` is false everywhere",
               work.pipeline.name.span);
  }
  return !work.failed();
}

void add_edges(Work& work, int consumer, const ast::NeededOp& need) {
  Program& program = work.program;
  const int op = work.find_op(need.op.text);
  const int stage = Program::at(program.lanes, consumer).stage;
  const Stage& here = Program::at(program.stages, stage);
  const std::vector<int> targets = need.at == ast::At::here   ? std::vector<int>{stage}
                                   : need.at == ast::At::prev ? here.prev
                                                              : here.next;
  for (const int target : targets) {
    const int producer = program.lane_of(op, target);
    if (producer < 0) {
      work.error("need-no-such-lane",
                 fmt::format("{} needs {}, but stage {} has no {}", program.lane_name(consumer),
                             need.op.text, target, need.op.text),
                 "its `when` is false there", need.span);
      continue;
    }
    const int edge = static_cast<int>(program.edges.size());
    program.edges.push_back({producer, consumer, need.span});
    program.lanes[static_cast<std::size_t>(consumer)].edges.push_back(edge);
    program.lanes[static_cast<std::size_t>(producer)].feeds.push_back(edge);
  }
}

void add_edges(Work& work) {
  for (int lane = 0; lane < static_cast<int>(work.program.lanes.size()); ++lane) {
    const int op = Program::at(work.program.lanes, lane).op;
    for (const ast::OpClause& clause : work.ops[static_cast<std::size_t>(op)].node->clauses) {
      const auto* needs = std::get_if<ast::Needs>(&clause.value);
      if (needs == nullptr) continue;
      for (const ast::NeededOp& need : needs->items) {
        if (!need.of_all && !need.of) add_edges(work, lane, need);
      }
    }
  }
}

// Lanes that wait for each other, or for such lanes: what is left when all that can end is taken
// away.
std::vector<bool> never_ending(const Program& program) {
  std::vector<std::size_t> open(program.lanes.size());
  std::vector<int> done;
  for (std::size_t i = 0; i < program.lanes.size(); ++i) {
    open[i] = program.lanes[i].edges.size();
    if (open[i] == 0) done.push_back(static_cast<int>(i));
  }
  std::vector<bool> left(program.lanes.size(), true);
  while (!done.empty()) {
    const int lane = done.back();
    done.pop_back();
    left[static_cast<std::size_t>(lane)] = false;
    for (const int edge : Program::at(program.lanes, lane).feeds) {
      const int consumer = Program::at(program.edges, edge).consumer;
      if (--open[static_cast<std::size_t>(consumer)] == 0) done.push_back(consumer);
    }
  }
  return left;
}

// Edges of a shortest cycle through `start`, each to what the one before needs; empty if there is
// none.
std::vector<int> shortest_cycle(const Program& program, int start) {
  std::vector<int> reached_by(program.lanes.size(), -1);
  std::vector<int> queue{start};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const int edge : Program::at(program.lanes, queue[i]).edges) {
      const int producer = Program::at(program.edges, edge).producer;
      if (producer == start) {
        std::vector<int> cycle{edge};
        for (int at = queue[i]; at != start;) {
          cycle.push_back(Program::at(reached_by, at));
          at = Program::at(program.edges, cycle.back()).consumer;
        }
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      int& by = reached_by[static_cast<std::size_t>(producer)];
      if (by >= 0) continue;
      by = edge;
      queue.push_back(producer);
    }
  }
  return {};
}

// A lane on a cycle: every lane left needs another that is left, so walking on comes back.
int on_cycle(const Program& program, const std::vector<bool>& left, int lane) {
  std::vector<bool> passed(left.size(), false);
  while (!passed[static_cast<std::size_t>(lane)]) {
    passed[static_cast<std::size_t>(lane)] = true;
    for (const int edge : Program::at(program.lanes, lane).edges) {
      const int producer = Program::at(program.edges, edge).producer;
      if (!left[static_cast<std::size_t>(producer)]) continue;
      lane = producer;
      break;
    }
  }
  return lane;
}

void check_cycles(Work& work) {
  constexpr int kMostTried = 100;  // each search may visit every lane
  const Program& program = work.program;
  const std::vector<bool> left = never_ending(program);
  std::vector<int> best;
  int tried = 0;
  for (int lane = 0; lane < static_cast<int>(left.size()) && tried < kMostTried; ++lane) {
    if (!left[static_cast<std::size_t>(lane)]) continue;
    ++tried;
    const std::vector<int> cycle = shortest_cycle(program, on_cycle(program, left, lane));
    if (best.empty() || cycle.size() < best.size()) best = cycle;
  }
  if (best.empty()) return;
  Names names;
  for (const int edge : best) {
    const Edge& e = Program::at(program.edges, edge);
    if (names.empty()) names.push_back(program.task_name(e.consumer, 0));
    names.push_back(program.task_name(e.producer, 0));
  }
  work.error("needs-cycle", fmt::format("tasks need each other: {}", fmt::join(names, " needs ")),
             "one of these needs must go", Program::at(program.edges, best.front()).span);
}

void check_tensor_parallel(Work& work) {
  if (work.tensor_parallel.node == nullptr) return;
  const ast::TensorParallel& tensor = *work.tensor_parallel.node;
  const auto members = integer_of(work, tensor.members, global_values(work));
  if (members && *members < 1) {
    work.error("tensor-parallel-members", fmt::format("{} members make no rank", *members),
               "the fewest is 1", tensor.members.span);
  }
  if (members && *members > 1) work.unsupported("tensor_parallel", work.tensor_parallel.span);
}

}  // namespace

void make_lanes(Work& work) {
  check_tensor_parallel(work);
  for (const auto& pair : work.pairs) work.unsupported("pair", pair.span);
  for (const auto& channel : work.channels) {
    check_positive(work, channel.node->slots, "channel-capacity", "the channel's capacity");
  }
  make_ops(work);
  if (work.failed() || !add_lanes(work)) return;
  add_edges(work);
  if (!work.failed()) check_cycles(work);
}

}  // namespace ripeline::spec::elaboration
