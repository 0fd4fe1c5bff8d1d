#include "spec/elaborate/ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/vocabulary/cycle.h"
#include "spec/elaborate/costs.h"
#include "spec/elaborate/groups.h"
#include "spec/elaborate/pairs.h"
#include "spec/elaborate/share.h"

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

// Checks that `expr` is at least 1 at every stage, whether it is used there or not.
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

// The kind that the op's words name; the parser accepts only these words.
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
  for (const Engine known : kAllEngines) {
    if (op.engine->text == name_of(known)) return known;
    names.emplace_back(name_of(known));
  }
  work.error("op-unknown-engine", fmt::format("no engine is called '{}'", op.engine->text),
             choices("engines", op.engine->text, names), op.engine->span);
  return Engine::compute;
}

// Checks the link after `via`: its name, its capacity, and that it fits the dispatch.
void check_link(Work& work, const ast::NeededOp& need) {
  if (!need.via) return;
  const std::string& link = need.via->text;
  if (link == "slots" || link == "fifo") {
    if (need.via_capacity) {
      check_positive(work, *need.via_capacity, "link-capacity", "the link's capacity");
    }
    return;
  }
  if (link == "rendezvous") {
    if (!work.dispatch.node->in_order) {
      work.error("rendezvous-without-order", "a rendezvous link needs a committed order",
                 "write `dispatch in order NAME;` or use another link", need.via->span);
    }
    return;
  }
  if (work.find_channel(link) >= 0) return;
  Names names{"slots", "fifo", "rendezvous"};
  for (const auto& declared : work.channels) names.push_back(declared.node->name.text);
  work.error("via-unknown-link", fmt::format("no link or channel is called '{}'", link),
             choices("links", link, names), need.via->span);
}

// Checks that `of EXPR` is `of m - 1`, the only form that is supported.
void check_of(Work& work, const ast::NeededOp& need) {
  if (!need.of) return;
  for (const std::int64_t m : {1, 2, 7}) {
    Values values = global_values(work);
    set_stage(values, work, 0);
    values.set("m", m);
    const auto value = value_of(work, *need.of, values);
    if (!value) return;
    if (*value == Rational{m - 1, 1}) continue;
    work.error("need-of-other", fmt::format("`of {}` is not supported", print(*need.of)),
               "a need is of the same microbatch, `of m - 1` or `of all`", need.of->span);
    return;
  }
}

Of of(const ast::NeededOp& need) { return need.of_all ? Of::all : need.of ? Of::before : Of::same; }

// Checks the clauses once per op, not per lane: duplicates, links, `of`, the count of collectives.
void check_clauses(Work& work, const ast::Op& op) {
  bool has_cost = false;
  std::set<std::tuple<std::string, ast::At, std::string, Of>> needed;
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
    } else if (const auto* needs = std::get_if<ast::Needs>(&clause.value)) {
      for (const ast::NeededOp& need : needs->items) {
        check_link(work, need);
        check_of(work, need);
        const std::string stage = need.stage ? print(*need.stage) : "";
        if (!needed.emplace(need.op.text, need.at, stage, of(need)).second) {
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
    work.program.ops.push_back(
        {op.name.text, kind, op.sequential, op.once, engine_of(work, op), op.name.span});
    check_clauses(work, op);
    check_cost(work, op);
  }
}

int collectives_of(Work& work, const ast::Op& op, const Values& values, const std::string& where) {
  std::int64_t sum = 0;
  for (const ast::OpClause& clause : op.clauses) {
    const auto* collectives = std::get_if<ast::Collectives>(&clause.value);
    if (collectives == nullptr) continue;
    sum += integer_of(work, collectives->count, values, where).value_or(0);
  }
  if (sum > kLargestCollectives) {
    work.error("collectives-too-many",
               fmt::format("{} issues {} collectives{}", op.name.text, sum, where),
               fmt::format("the most is {}", kLargestCollectives), op.name.span);
    return 0;
  }
  return static_cast<int>(sum);
}

void add_lane(Work& work, int op, int stage, const Values& values) {
  const ast::Op& written = *work.ops[static_cast<std::size_t>(op)].node;
  const std::string where = fmt::format(", at stage {}", stage);
  if (written.when) {
    const auto present = value_of(work, *written.when, values, where);
    if (!present || present->numerator == 0) return;
  }
  const auto share = share_of(work, written, values, where);
  if (!share) {
    work.without_microbatch.emplace(op, stage);
    return;
  }
  const Stage& placed = at(work.program.stages, stage);
  const Op& known = at(work.program.ops, op);
  Lane lane;
  lane.op = op;
  lane.stage = stage;
  lane.rank = placed.rank;
  lane.chunk = placed.chunk;
  lane.sequential = known.sequential;
  lane.once = known.once;
  lane.share = *share;
  lane.collectives = collectives_of(work, written, values, where);
  lane.engine = known.engine;
  lane.cost = cost_of(work, written, *share, values, where);
  work.program.lanes.push_back(std::move(lane));
}

// Drops ops that have no lane at all, since needs of such ops are mistakes and must not be void.
void forget_ops_without_lanes(Work& work) {
  std::vector<bool> has_lane(work.ops.size());
  for (const Lane& lane : work.program.lanes) has_lane[static_cast<std::size_t>(lane.op)] = true;
  std::erase_if(work.without_microbatch,
                [&](const auto& one) { return !has_lane[static_cast<std::size_t>(one.first)]; });
}

bool add_lanes(Work& work) {
  const int most = work.options.most_lanes;
  Values values = global_values(work);
  for (const std::vector<int>& stages : work.rank_stages) {
    for (const int stage : stages) {
      set_stage(values, work, stage);
      for (int op = 0; op < static_cast<int>(work.ops.size()); ++op) {
        add_lane(work, op, stage, values);
        if (static_cast<int>(work.program.lanes.size()) <= most) continue;
        work.error("too-many-lanes", fmt::format("more than {} ops at stages", most),
                   "use fewer stages or ops", work.stages.span);
        return false;
      }
    }
  }
  if (work.program.lanes.empty() && !work.failed()) {
    work.error("no-tasks", "no op exists at any stage",
               "every op's `when`, or `on m where`, is false everywhere", work.pipeline.name.span);
  }
  forget_ops_without_lanes(work);
  if (!work.failed()) list_shares(work);
  return !work.failed();
}

// The inboxes of channels; each is made when the first message needs it.
class Inboxes {
 public:
  explicit Inboxes(Work& work) : work_(work) {}

  // Fills in the link of an edge that crosses ranks.
  void link(Edge& edge, const ast::NeededOp& need) {
    if (!need.via) return;
    const Lane& consumer = at(work_.program.lanes, edge.consumer);
    const std::string& link = need.via->text;
    if (link == "rendezvous") {
      edge.rendezvous = true;
    } else if (const int channel = work_.find_channel(link); channel >= 0) {
      edge.inbox = of_channel(channel, consumer);
    } else {
      edge.fifo = link == "fifo";
      if (!need.via_capacity) return;  // without a capacity each message has a slot
      Values values = global_values(work_);
      set_stage(values, work_, consumer.stage);
      edge.inbox = add({"", consumer.rank, consumer.stage, 1}, *need.via_capacity, values);
    }
  }

 private:
  int of_channel(int channel, const Lane& consumer) {
    const ast::Channel& written = *work_.channels[static_cast<std::size_t>(channel)].node;
    const bool per_rank = written.per == ast::Per::rank;
    const auto [it, fresh] =
        made_.try_emplace({channel, per_rank ? consumer.rank : consumer.stage}, -1);
    if (!fresh) return it->second;
    Values values = global_values(work_);
    per_rank ? set_rank(values, work_, consumer.rank) : set_stage(values, work_, consumer.stage);
    it->second = add({written.name.text, consumer.rank, per_rank ? -1 : consumer.stage, 1},
                     written.slots, values);
    return it->second;
  }

  // Adds an inbox; its number of slots was checked to be at least 1.
  int add(Inbox inbox, const Expr& slots, const Values& values) {
    inbox.slots = integer_of(work_, slots, values).value_or(1);
    work_.program.inboxes.push_back(std::move(inbox));
    return static_cast<int>(work_.program.inboxes.size()) - 1;
  }

  Work& work_;
  std::map<std::pair<int, int>, int> made_;  // (channel, stage or rank)
};

// Tasks of a `once` op and of another op do not match one to one, so the need must be `of all`.
void check_once(Work& work, const Edge& edge, const ast::NeededOp& need) {
  const Lane& producer = at(work.program.lanes, edge.producer);
  const Lane& consumer = at(work.program.lanes, edge.consumer);
  if (edge.of == Of::all || (producer.once == consumer.once && edge.of == Of::same) ||
      (!producer.once && !consumer.once)) {
    return;
  }
  work.error("need-once",
             fmt::format("{} needs a microbatch of {}, but one of them runs once",
                         at(work.program.ops, consumer.op).name, need.op.text),
             "write `of all`", need.span);
}

// The stage that `at (EXPR)` names; nullopt after reporting an error.
std::optional<int> stage_of(Work& work, int consumer, const Expr& named) {
  const Program& program = work.program;
  Values values = global_values(work);
  set_stage(values, work, at(program.lanes, consumer).stage);
  const std::string lane = program.lane_name(consumer);
  const auto stage = integer_of(work, named, values, fmt::format(", of {}", lane));
  if (!stage) return std::nullopt;
  if (0 <= *stage && *stage < size_of(program.stages)) return static_cast<int>(*stage);
  work.error("need-no-such-stage",
             fmt::format("{} needs a task at stage {}, which there is not", lane, *stage),
             fmt::format("the stages are 0 to {}", size_of(program.stages) - 1), named.span);
  return std::nullopt;
}

// The stages of the need's producers.
std::vector<int> stages_of(Work& work, int consumer, const ast::NeededOp& need) {
  const int stage = at(work.program.lanes, consumer).stage;
  const Stage& here = at(work.program.stages, stage);
  switch (need.at) {
    case ast::At::here:
      return {stage};
    case ast::At::prev:
      return here.prev;
    case ast::At::next:
      return here.next;
    case ast::At::stage:
      break;
  }
  const std::optional<int> named = stage_of(work, consumer, *need.stage);
  return named ? std::vector<int>{*named} : std::vector<int>{};
}

// Reports a need that the lane already has, since `at (EXPR)` may name the stage of another need.
bool is_needed_already(Work& work, const Edge& edge, const ast::NeededOp& need) {
  const Program& program = work.program;
  const auto same = [&](int id) {
    const Edge& other = at(program.edges, id);
    return other.producer == edge.producer && other.of == edge.of;
  };
  const std::vector<int>& edges = at(program.lanes, edge.consumer).edges;
  if (std::none_of(edges.begin(), edges.end(), same)) return false;
  work.error("duplicate-need",
             fmt::format("{} needs {} already", program.lane_name(edge.consumer),
                         program.lane_name(edge.producer)),
             "remove one of them", need.span);
  return true;
}

void add_edges(Work& work, Inboxes& inboxes, int consumer, const ast::NeededOp& need) {
  Program& program = work.program;
  const int op = work.find_op(need.op.text);
  for (const int target : stages_of(work, consumer, need)) {
    const int producer = program.lane_of(op, target);
    if (work.without_microbatch.contains({op, target})) continue;
    if (producer < 0) {
      work.error("need-no-such-lane",
                 fmt::format("{} needs {}, but stage {} has no {}", program.lane_name(consumer),
                             need.op.text, target, need.op.text),
                 "its `when`, or `on m where`, is false there", need.span);
      continue;
    }
    const int edge = static_cast<int>(program.edges.size());
    Edge made{.producer = producer, .consumer = consumer, .span = need.span, .of = of(need)};
    if (is_needed_already(work, made, need)) continue;
    check_once(work, made, need);
    if (program.crosses_ranks(made)) inboxes.link(made, need);
    program.edges.push_back(made);
    program.lanes[static_cast<std::size_t>(consumer)].edges.push_back(edge);
    program.lanes[static_cast<std::size_t>(producer)].feeds.push_back(edge);
  }
}

void add_edges(Work& work) {
  Inboxes inboxes(work);
  for (int lane = 0; lane < static_cast<int>(work.program.lanes.size()); ++lane) {
    const int op = at(work.program.lanes, lane).op;
    for (const ast::OpClause& clause : work.ops[static_cast<std::size_t>(op)].node->clauses) {
      const auto* needs = std::get_if<ast::Needs>(&clause.value);
      if (needs == nullptr) continue;
      for (const ast::NeededOp& need : needs->items) {
        add_edges(work, inboxes, lane, need);
      }
    }
  }
}

// Lanes whose tasks of one microbatch never end, since they are on a cycle of needs or wait for
// one; found by removing all lanes that can end. A need of the microbatch before makes no cycle.
std::vector<bool> never_ending(const Program& program) {
  std::vector<std::size_t> open(program.lanes.size(), 0);
  std::vector<int> done;
  for (const Edge& e : program.edges) {
    if (e.of != Of::before) ++open[static_cast<std::size_t>(e.consumer)];
  }
  for (std::size_t i = 0; i < program.lanes.size(); ++i) {
    if (open[i] == 0) done.push_back(static_cast<int>(i));
  }
  std::vector<bool> left(program.lanes.size(), true);
  while (!done.empty()) {
    const int lane = done.back();
    done.pop_back();
    left[static_cast<std::size_t>(lane)] = false;
    for (const int edge : at(program.lanes, lane).feeds) {
      const Edge& e = at(program.edges, edge);
      if (e.of == Of::before) continue;
      if (--open[static_cast<std::size_t>(e.consumer)] == 0) done.push_back(e.consumer);
    }
  }
  return left;
}

// The edges of a shortest cycle through `start`, each from a consumer to its producer, which is the
// next consumer; empty if there is no cycle of at most `most` edges.
std::vector<int> cycle_through(const Program& program, int start, std::size_t most) {
  const auto arcs = [&](int lane, const auto& visit) {
    for (const int edge : at(program.lanes, lane).edges) {
      const Edge& e = at(program.edges, edge);
      if (e.of != Of::before) visit(e.producer, edge);
    }
  };
  std::vector<int> edges;
  for (const auto& step : core::shortest_cycle<int, int>(start, arcs, most))
    edges.push_back(step.arc);
  return edges;
}

// A lane on a cycle, which exists because each lane in `left` needs another lane in `left`.
int on_cycle(const Program& program, const std::vector<bool>& left, int lane) {
  std::vector<bool> passed(left.size(), false);
  while (!passed[static_cast<std::size_t>(lane)]) {
    passed[static_cast<std::size_t>(lane)] = true;
    for (const int edge : at(program.lanes, lane).edges) {
      const Edge& e = at(program.edges, edge);
      const int producer = e.producer;
      if (e.of == Of::before || !left[static_cast<std::size_t>(producer)]) continue;
      lane = producer;
      break;
    }
  }
  return lane;
}

// Whether a task of `lane` needs a task of `other`, directly or not, of any microbatches.
bool depends_on(const Program& program, int lane, int other) {
  std::vector<bool> seen(program.lanes.size(), false);
  std::vector<int> open{lane};
  while (!open.empty()) {
    const int consumer = open.back();
    open.pop_back();
    for (const int edge : at(program.lanes, consumer).edges) {
      const int producer = at(program.edges, edge).producer;
      if (producer == other) return true;
      if (seen[static_cast<std::size_t>(producer)]) continue;
      seen[static_cast<std::size_t>(producer)] = true;
      open.push_back(producer);
    }
  }
  return false;
}

// Reports a lane L that needs all tasks of a lane with any task that depends on L.
void check_all_needs(Work& work) {
  const Program& program = work.program;
  for (const Edge& e : program.edges) {
    if (e.of != Of::all || !depends_on(program, e.producer, e.consumer)) continue;
    work.error(
        "needs-cycle",
        fmt::format("{} needs all of {}, of which some need {}", program.task_name(e.consumer, 0),
                    program.lane_name(e.producer), program.lane_name(e.consumer)),
        "one of these needs must go", e.span);
    return;
  }
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
    const std::size_t most = best.empty() ? left.size() : best.size() - 1;
    std::vector<int> cycle = cycle_through(program, on_cycle(program, left, lane), most);
    if (!cycle.empty()) best = std::move(cycle);
  }
  if (best.empty()) return;
  // If shares differ, single tasks need not form a cycle, so the error names lanes.
  const bool crosses = std::any_of(best.begin(), best.end(), [&](int edge) {
    return program.crosses_shares(at(program.edges, edge));
  });
  const auto name = [&](int lane) {
    return crosses ? program.lane_name(lane) : program.task_name(lane, 0);
  };
  Names names;
  for (const int edge : best) {
    const Edge& e = at(program.edges, edge);
    if (names.empty()) names.push_back(name(e.consumer));
    names.push_back(name(e.producer));
  }
  work.error("needs-cycle",
             fmt::format("{} need each other: {}", crosses ? "ops at stages" : "tasks",
                         fmt::join(names, " needs ")),
             "one of these needs must go", at(program.edges, best.front()).span);
}

}  // namespace

void make_lanes(Work& work) {
  read_groups(work);
  for (const auto& channel : work.channels) {
    check_positive(work, channel.node->slots, "channel-capacity", "the channel's capacity");
  }
  make_ops(work);
  if (work.failed() || !add_lanes(work)) return;
  add_edges(work);
  if (!work.failed()) check_cycles(work);
  if (!work.failed()) check_all_needs(work);
  if (!work.failed()) check_reductions(work);
  if (!work.failed()) make_pairs(work);
}

}  // namespace ripeline::spec::elaboration
