#include "runtime/training/train_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>

#include "core/print.h"

namespace ripeline::runtime::training {

using core::EdgeFacts;
using core::LaneFacts;
using core::LaneId;
using core::OpKind;

TrainRules::TrainRules(const core::ProgramFacts& facts)
    : facts_(facts),
      stages_(static_cast<std::size_t>(facts.stages)),
      reduces_(static_cast<std::size_t>(facts.ranks)),
      needs_(facts.lanes.size()),
      feeds_(facts.lanes.size()) {
  for (LaneId lane = 0; lane < static_cast<LaneId>(facts.lanes.size()); ++lane) {
    const LaneFacts& own = lane_of(lane);
    stages_[static_cast<std::size_t>(own.stage)].push_back(lane);
    if (kind_of(lane) == OpKind::reduce) {
      reduces_[static_cast<std::size_t>(own.rank)].push_back(lane);
    }
  }
  for (const EdgeFacts& edge : facts.edges) {
    needs_[static_cast<std::size_t>(edge.consumer)].push_back(&edge);
    feeds_[static_cast<std::size_t>(edge.producer)].push_back(&edge);
  }
}

std::optional<std::string> TrainRules::why_not(LaneId lane) const {
  for (const auto check :
       {&TrainRules::check_kind, &TrainRules::check_halves, &TrainRules::check_backwards,
        &TrainRules::check_offloads, &TrainRules::check_reductions, &TrainRules::check_ties,
        &TrainRules::check_gradients}) {
    if (std::string why = (this->*check)(lane); !why.empty()) return why;
  }
  return std::nullopt;
}

// ---- Reading the facts.

const LaneFacts& TrainRules::lane_of(LaneId lane) const {
  return facts_.lanes[static_cast<std::size_t>(lane)];
}

OpKind TrainRules::kind_of(LaneId lane) const {
  return facts_.ops[static_cast<std::size_t>(lane_of(lane).op)].kind;
}

std::string TrainRules::name(LaneId lane) const { return core::lane_name(facts_, lane); }

const std::vector<LaneId>& TrainRules::lanes_at(int stage) const {
  return stages_[static_cast<std::size_t>(stage)];
}

const TrainRules::Edges& TrainRules::needs(LaneId lane) const {
  return needs_[static_cast<std::size_t>(lane)];
}

const TrainRules::Edges& TrainRules::feeds(LaneId lane) const {
  return feeds_[static_cast<std::size_t>(lane)];
}

bool TrainRules::stage_has(int stage, OpKind kind) const {
  const std::vector<LaneId>& lanes = lanes_at(stage);
  return std::any_of(lanes.begin(), lanes.end(), [&](LaneId l) { return kind_of(l) == kind; });
}

std::string TrainRules::name_at_stage(LaneId lane, OpKind kind) const {
  for (const LaneId other : lanes_at(lane_of(lane).stage)) {
    if (kind_of(other) == kind) return name(other);
  }
  return "";
}

bool TrainRules::carries(const EdgeFacts& edge, Carried what) const {
  return edge.of == core::Of::same &&
         lane_of(edge.producer).stage != lane_of(edge.consumer).stage &&
         carried(kind_of(edge.producer), kind_of(edge.consumer)) == what;
}

int TrainRules::from_others(LaneId lane, Carried what) const {
  const Edges& edges = needs(lane);
  return static_cast<int>(std::count_if(
      edges.begin(), edges.end(), [&](const EdgeFacts* edge) { return carries(*edge, what); }));
}

int TrainRules::to_others(LaneId lane, Carried what) const {
  const Edges& edges = feeds(lane);
  return static_cast<int>(std::count_if(
      edges.begin(), edges.end(), [&](const EdgeFacts* edge) { return carries(*edge, what); }));
}

// The lanes of other stages that send gradients to this lane or to an op `reload` of its stage.
std::set<LaneId> TrainRules::gives_it_gradients(LaneId lane) const {
  std::set<LaneId> givers;
  for (const LaneId taker : lanes_at(lane_of(lane).stage)) {
    if (taker != lane && kind_of(taker) != OpKind::reload) continue;
    for (const EdgeFacts* edge : needs(taker)) {
      if (carries(*edge, Carried::gradient)) givers.insert(edge->producer);
    }
  }
  return givers;
}

// The number of microbatches after which the shares of all these lanes repeat.
int TrainRules::period_of(const std::vector<LaneId>& lanes) const {
  std::int64_t period = 1;
  for (const LaneId lane : lanes) period = std::lcm(period, lane_of(lane).share.period);
  return static_cast<int>(std::min<std::int64_t>(period, core::Share::kMostPeriod));
}

// Whether the lane needs all tasks of each lane that completes gradients at its stage.
bool TrainRules::needs_all_gradients(LaneId lane) const {
  for (const LaneId other : lanes_at(lane_of(lane).stage)) {
    if (kind_of(other) != OpKind::backward && kind_of(other) != OpKind::backward_weight) continue;
    const Edges& edges = needs(lane);
    const auto is_need = [&](const EdgeFacts* edge) {
      return edge->producer == other && edge->of == core::Of::all;
    };
    if (std::none_of(edges.begin(), edges.end(), is_need)) return false;
  }
  return true;
}

// Whether a task of the lane needs, directly or through others, the task of an op of this kind at
// its stage, for the same microbatch.
bool TrainRules::comes_after(LaneId lane, OpKind kind) const {
  std::vector<bool> seen(facts_.lanes.size());
  std::vector<LaneId> next{lane};
  while (!next.empty()) {
    const LaneId one = next.back();
    next.pop_back();
    for (const EdgeFacts* edge : needs(one)) {
      const LaneId producer = edge->producer;
      if (edge->of != core::Of::same || seen[static_cast<std::size_t>(producer)]) continue;
      seen[static_cast<std::size_t>(producer)] = true;
      next.push_back(producer);
      if (kind_of(producer) == kind && lane_of(producer).stage == lane_of(lane).stage) return true;
    }
  }
  return false;
}

// ---- The rules.

std::string TrainRules::check_kind(LaneId lane) const {
  const OpKind kind = kind_of(lane);
  const bool known = kind == OpKind::forward || kind == OpKind::plain ||
                     kind == OpKind::backward_weight || kind == OpKind::reduce ||
                     kind == OpKind::recompute || kind == OpKind::offload ||
                     kind == OpKind::reload || computes_gradients(kind) ||
                     (kind == OpKind::user && from_others(lane, Carried::tied_gradients) > 0);
  if (known) return "";
  return name(lane) +
         ": LibTorch stages run ops of the kinds `forward`, `backward`, `backward input`, "
         "`backward weight`, `recompute`, `offload`, `reload` and `reduce` only, and `user` for "
         "tied weights, which needs the `reduce` of another stage";
}

std::string TrainRules::check_halves(LaneId lane) const {
  const auto missing = [&](OpKind kind, OpKind other, const char* half) {
    return kind_of(lane) == kind && !stage_has(lane_of(lane).stage, other)
               ? name(lane) + " is one half of a backward, and its stage has no op `backward " +
                     half + "`"
               : std::string();
  };
  return missing(OpKind::backward_input, OpKind::backward_weight, "weight") +
         missing(OpKind::backward_weight, OpKind::backward_input, "input");
}

// Checks that a microbatch with a forward at a stage that trains has one backward there.
std::string TrainRules::check_backwards(LaneId lane) const {
  if (kind_of(lane) != OpKind::forward) return "";
  std::vector<LaneId> gradients{lane};
  std::vector<LaneId> weights{lane};
  for (const LaneId other : lanes_at(lane_of(lane).stage)) {
    const OpKind kind = kind_of(other);
    if (computes_gradients(kind)) gradients.push_back(other);
    if (kind == OpKind::backward || kind == OpKind::backward_weight) weights.push_back(other);
  }
  for (const std::vector<LaneId>& lanes : {gradients, weights}) {
    if (lanes.size() == 1) continue;  // the stage does not train, or lacks one half
    const int period = period_of(lanes);
    for (int m = 0; m < period; ++m) {
      if (!lane_of(lane).share.has(m)) continue;
      const auto times = std::count_if(lanes.begin() + 1, lanes.end(),
                                       [&](LaneId other) { return lane_of(other).share.has(m); });
      if (times == 1) continue;
      return name(lane) + ": microbatch " + std::to_string(m) + " runs backward " +
             (times == 0 ? "not at all" : std::to_string(times) + " times") +
             " at this stage: LibTorch stages run each once, whole or in two halves";
    }
  }
  return "";
}

// Checks an `offload`, a `reload`, and ops that use what a reload has brought back.
std::string TrainRules::check_offloads(LaneId lane) const {
  const OpKind kind = kind_of(lane);
  const auto after = [&](OpKind needed, const char* why) {
    if (comes_after(lane, needed)) return std::string();
    const std::string other = name_at_stage(lane, needed);
    const std::string kind_name(core::name_of(needed));
    if (other.empty()) return name(lane) + why + ": its stage must have an op `" + kind_name + '`';
    return name(lane) + why + ": it must need " + other + ", itself or through others";
  };
  if (kind == OpKind::offload || kind == OpKind::reload) {
    if (lane_of(lane).once) {
      return name(lane) +
             " is `once`: LibTorch stages offload what a microbatch keeps, and nothing else";
    }
    return kind == OpKind::offload ? after(OpKind::forward, " takes away what its forward keeps")
                                   : after(OpKind::offload, " brings back what was offloaded");
  }
  const bool uses = computes_gradients(kind) || kind == OpKind::recompute;
  if (!uses || !stage_has(lane_of(lane).stage, OpKind::offload)) return "";
  return after(OpKind::reload, " needs what is offloaded");
}

// Checks programs with several replicas or tied weights: each stage's gradients are summed once,
// when they are complete.
std::string TrainRules::check_reductions(LaneId lane) const {
  const LaneFacts& own = lane_of(lane);
  if (facts_.replicas > 1 && !stage_has(own.stage, OpKind::reduce)) {
    return "stage " + std::to_string(own.stage) +
           " has no op `reduce`, and its gradients are those of one replica";
  }
  const bool gives = to_others(lane, Carried::tied_gradients) > 0;
  if (kind_of(lane) != OpKind::reduce || (facts_.replicas == 1 && !gives)) return "";
  const std::vector<LaneId>& others = reduces_[static_cast<std::size_t>(own.rank)];
  const auto any_other = [&](const auto& is) {
    return std::any_of(others.begin(), others.end(),
                       [&](LaneId other) { return other != lane && is(lane_of(other)); });
  };
  if (!own.once || any_other([&](const LaneFacts& l) { return l.stage == own.stage; })) {
    return name(lane) +
           " sums the gradients of its stage, and so does another task: one `reduce once` is for "
           "each stage";
  }
  if (any_other([&](const LaneFacts& l) { return l.engine != own.engine; })) {
    return name(lane) + " is on " + core::name_of(own.engine) +
           ", and its rank reduces on another engine, too: one is for all";
  }
  if (needs_all_gradients(lane)) return "";
  return name(lane) +
         " sums gradients: it must need all tasks that compute them, as in `needs B at here of "
         "all`";
}

// Checks that stages with tied parameters exchange the gradients of these parameters.
std::string TrainRules::check_ties(LaneId lane) const {
  if (kind_of(lane) != OpKind::user) return "";
  const std::string adds = name(lane) + " adds up the gradients of ";
  const Edges& edges = needs(lane);
  const auto own = std::find_if(edges.begin(), edges.end(), [&](const EdgeFacts* edge) {
    return kind_of(edge->producer) == OpKind::reduce &&
           lane_of(edge->producer).stage == lane_of(lane).stage;
  });
  if (own == edges.end()) {
    return adds + "tied weights: it must need its own stage's `reduce`, too";
  }
  const LaneId reduce = (*own)->producer;
  const int given = to_others(reduce, Carried::tied_gradients);
  const int taken = from_others(lane, Carried::tied_gradients);
  if (given == taken) return "";
  return adds + std::to_string(taken) + " other stages, and " + name(reduce) + " gives them to " +
         std::to_string(given) + ": copies would differ";
}

// Checks that a stage gets the gradient of each microbatch from each stage that it feeds.
std::string TrainRules::check_gradients(LaneId lane) const {
  if (kind_of(lane) != OpKind::forward) return "";
  const int fed = to_others(lane, Carried::activation);
  for (const LaneId backward : lanes_at(lane_of(lane).stage)) {
    if (!computes_gradients(kind_of(backward))) continue;
    const std::set<LaneId> givers = gives_it_gradients(backward);
    std::vector<LaneId> all(givers.begin(), givers.end());
    all.push_back(backward);
    const int period = period_of(all);
    for (int m = 0; m < period; ++m) {
      if (!lane_of(backward).share.has(m)) continue;
      const auto returned = std::count_if(
          givers.begin(), givers.end(), [&](LaneId giver) { return lane_of(giver).share.has(m); });
      if (fed == returned) continue;
      return name(lane) + " feeds " + std::to_string(fed) + " other stages, and " + name(backward) +
             " needs the gradients of " + std::to_string(returned) +
             ": it must need those of each that it feeds, and of no other";
    }
  }
  return "";
}

}  // namespace ripeline::runtime::training
