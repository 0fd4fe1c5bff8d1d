#include "runtime/torch/torch_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/print.h"
#include "runtime/torch/offload.h"
#include "runtime/torch/torch_edges.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using core::StatusCode;

// Reads the facts of one lane.
class Lane {
 public:
  Lane(const core::ProgramFacts& facts, std::size_t lane) : facts_(facts), lane_(lane) {}

  [[nodiscard]] const core::LaneFacts& facts() const { return facts_.lanes[lane_]; }
  [[nodiscard]] OpKind kind() const { return kind_of(lane_); }
  [[nodiscard]] std::string name() const {
    return core::lane_name(facts_, static_cast<core::LaneId>(lane_));
  }

  // Edges from other stages that carry `what`, and edges to them.
  [[nodiscard]] int from_others(Carried what) const {
    return count(what, [this](std::size_t, std::size_t consumer) { return consumer == lane_; });
  }
  // Lanes of other stages that give it, or an op `reload` of its stage, gradients.
  [[nodiscard]] int gives_it_gradients() const {
    const auto is_for_it = [this](std::size_t lane) {
      return lane == lane_ ||
             (kind_of(lane) == OpKind::reload && facts_.lanes[lane].stage == facts().stage);
    };
    std::set<core::LaneId> givers;
    for (const core::EdgeFacts& edge : facts_.edges) {
      if (is_for_it(static_cast<std::size_t>(edge.consumer)) && carries(edge, Carried::gradient)) {
        givers.insert(edge.producer);
      }
    }
    return static_cast<int>(givers.size());
  }
  [[nodiscard]] int to_others(Carried what) const {
    return count(what, [this](std::size_t producer, std::size_t) { return producer == lane_; });
  }
  // Whether it needs all tasks of each other lane at its stage that completes gradients.
  [[nodiscard]] bool needs_all_gradients() const {
    for (std::size_t lane = 0; lane < facts_.lanes.size(); ++lane) {
      const bool completes =
          kind_of(lane) == OpKind::backward || kind_of(lane) == OpKind::backward_weight;
      if (!completes || facts_.lanes[lane].stage != facts().stage) continue;
      const auto is_need = [&](const core::EdgeFacts& edge) {
        return static_cast<std::size_t>(edge.consumer) == lane_ &&
               static_cast<std::size_t>(edge.producer) == lane && edge.of == core::Of::all;
      };
      if (std::none_of(facts_.edges.begin(), facts_.edges.end(), is_need)) return false;
    }
    return true;
  }
  [[nodiscard]] bool needs_at_stage(OpKind kind) const {
    return std::any_of(facts_.edges.begin(), facts_.edges.end(), [&](const core::EdgeFacts& edge) {
      const auto producer = static_cast<std::size_t>(edge.producer);
      return static_cast<std::size_t>(edge.consumer) == lane_ && kind_of(producer) == kind &&
             facts_.lanes[producer].stage == facts().stage;
    });
  }
  // Other lanes of its kind of which `is` holds.
  template <class Is>
  [[nodiscard]] bool has_other(const Is& is) const {
    for (std::size_t lane = 0; lane < facts_.lanes.size(); ++lane) {
      if (lane != lane_ && kind_of(lane) == kind() && is(facts_.lanes[lane])) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_at_stage(OpKind kind) const {
    return find_at_stage([kind](OpKind found) { return found == kind; }) < facts_.lanes.size();
  }
  // The lane at this stage that computes its gradients, or the number of lanes.
  template <class Fits>
  [[nodiscard]] std::size_t find_at_stage(const Fits& fits) const {
    std::size_t lane = 0;
    while (lane < facts_.lanes.size() &&
           !(facts_.lanes[lane].stage == facts().stage && fits(kind_of(lane)))) {
      ++lane;
    }
    return lane;
  }

 private:
  [[nodiscard]] OpKind kind_of(std::size_t lane) const {
    return facts_.ops[static_cast<std::size_t>(facts_.lanes[lane].op)].kind;
  }
  template <class Fits>
  [[nodiscard]] int count(Carried what, const Fits& fits) const {
    return static_cast<int>(
        std::count_if(facts_.edges.begin(), facts_.edges.end(), [&](const core::EdgeFacts& edge) {
          return fits(static_cast<std::size_t>(edge.producer),
                      static_cast<std::size_t>(edge.consumer)) &&
                 carries(edge, what);
        }));
  }
  [[nodiscard]] bool carries(const core::EdgeFacts& edge, Carried what) const {
    const auto producer = static_cast<std::size_t>(edge.producer);
    const auto consumer = static_cast<std::size_t>(edge.consumer);
    return edge.of == core::Of::same &&
           facts_.lanes[producer].stage != facts_.lanes[consumer].stage &&
           carried(kind_of(producer), kind_of(consumer)) == what;
  }

  const core::ProgramFacts& facts_;
  std::size_t lane_;
};

bool is_supported(const Lane& lane) {
  const OpKind kind = lane.kind();
  if (kind == OpKind::user) return lane.from_others(Carried::tied_gradients) > 0;
  return kind == OpKind::forward || kind == OpKind::plain || kind == OpKind::backward_weight ||
         kind == OpKind::reduce || kind == OpKind::recompute || kind == OpKind::offload ||
         kind == OpKind::reload || computes_gradients(kind);
}

// Who feeds a stage must get a gradient from it.
std::string check_gradients(const core::ProgramFacts& facts, const Lane& forward) {
  const std::size_t at = forward.find_at_stage(computes_gradients);
  if (at == facts.lanes.size()) return "";
  const Lane backward(facts, at);
  const int fed = forward.to_others(Carried::activation);
  const int returned = backward.gives_it_gradients();
  if (fed == returned) return "";
  return forward.name() + " feeds " + std::to_string(fed) + " other stages, and " +
         backward.name() + " needs the gradients of " + std::to_string(returned) +
         ": it must need those of each that it feeds, and of no other";
}

std::string check_halves(const Lane& lane) {
  const auto missing = [&lane](OpKind kind, OpKind other, const char* name) {
    return lane.kind() == kind && !lane.has_at_stage(other)
               ? lane.name() + " is one half of a backward, and its stage has no op `backward " +
                     name + "`"
               : std::string();
  };
  return missing(OpKind::backward_input, OpKind::backward_weight, "weight") +
         missing(OpKind::backward_weight, OpKind::backward_input, "input");
}

// Of several replicas: each stage's gradients are summed once, when they are complete.
std::string check_reductions(const TorchModel& model, const core::ProgramFacts& facts,
                             const Lane& lane) {
  if (facts.replicas > 1 && !lane.has_at_stage(OpKind::reduce)) {
    return "stage " + std::to_string(lane.facts().stage) +
           " has no op `reduce`, and its gradients are those of one replica";
  }
  if (facts.replicas != model.replicas.size()) {
    return "the program has " + std::to_string(facts.replicas) + " replicas, and `replicas` is a " +
           "group of " + std::to_string(model.replicas.size());
  }
  const bool gives = lane.to_others(Carried::tied_gradients) > 0;
  if (lane.kind() != OpKind::reduce || (facts.replicas == 1 && !gives)) return "";
  const core::LaneFacts& own = lane.facts();
  if (!own.once || lane.has_other([&](const core::LaneFacts& l) { return l.stage == own.stage; })) {
    return lane.name() +
           " sums the gradients of its stage, and so does another task: one `reduce " +
           "once` is for each stage";
  }
  if (lane.has_other(
          [&](const core::LaneFacts& l) { return l.rank == own.rank && l.engine != own.engine; })) {
    return lane.name() + " is on " + core::name_of(own.engine) +
           ", and its rank reduces on another engine, too: one is for all";
  }
  if (lane.needs_all_gradients()) return "";
  return lane.name() +
         " sums gradients: it must need all tasks that compute them, as in `needs B " +
         "at here of all`";
}

bool is_tied(const NamedTensor& parameter) { return !parameter.tied.empty(); }

// Each stage with a copy of a tied parameter gives its gradients to the others and adds up theirs.
std::string check_ties(const TorchModel& model, const core::ProgramFacts& facts, const Lane& lane) {
  const int number = lane.facts().stage;
  const std::string stage = "stage " + std::to_string(number);
  const std::vector<NamedTensor>& parameters = model.stages.at(number).parameters;
  const bool has_ties = std::any_of(parameters.begin(), parameters.end(), is_tied);
  if (has_ties && !lane.has_at_stage(OpKind::user)) {
    return stage + " has tied weights, and no op `user` that adds up their gradients";
  }
  if (lane.kind() != OpKind::user) return "";
  if (!has_ties) {
    return lane.name() + " adds up the gradients of tied weights, and no parameter of " + stage +
           " says that it is one (`tied`)";
  }
  if (!lane.needs_at_stage(OpKind::reduce)) {
    return lane.name() + " adds up the gradients of tied weights: it must need its own stage's " +
           "`reduce`, too";
  }
  const Lane reduce(facts, lane.find_at_stage([](OpKind kind) { return kind == OpKind::reduce; }));
  if (reduce.to_others(Carried::tied_gradients) == lane.from_others(Carried::tied_gradients)) {
    return "";
  }
  return lane.name() + " adds up the gradients of " +
         std::to_string(lane.from_others(Carried::tied_gradients)) + " other stages, and " +
         reduce.name() + " gives them to " +
         std::to_string(reduce.to_others(Carried::tied_gradients)) + ": copies would differ";
}

// A tensor of two stages would be reduced and updated twice.
std::string check_parameters(const TorchModel& model) {
  std::map<const void*, int> known;  // its stage
  for (const auto& [number, stage] : model.stages) {
    for (const NamedTensor& parameter : stage.parameters) {
      const auto [other, is_new] =
          known.try_emplace(parameter.tensor.unsafeGetTensorImpl(), number);
      if (is_new) continue;
      if (other->second == number) {
        return "stage " + std::to_string(number) + " lists one tensor twice, as '" +
               parameter.name + "' the second time";
      }
      return "stages " + std::to_string(other->second) + " and " + std::to_string(number) +
             " have one tensor, '" + parameter.name +
             "': give each a copy, and tie them (NamedTensor::tied)";
    }
  }
  return "";
}

}  // namespace

Status check_model(const TorchModel& model, const core::ProgramFacts& facts, int rank) {
  const auto refused = [rank](const std::string& what) {
    return Status(StatusCode::refused, "rank " + std::to_string(rank) + ": " + what);
  };
  if (model.autocast && *model.autocast != torch::kBFloat16 && *model.autocast != torch::kHalf) {
    return refused("`autocast` is to torch::kBFloat16 or torch::kHalf");
  }
  if (const std::string wrong = check_parameters(model); !wrong.empty()) return refused(wrong);
  for (std::size_t i = 0; i < facts.lanes.size(); ++i) {
    const Lane lane(facts, i);
    const int stage = lane.facts().stage;
    if (lane.facts().rank != rank) continue;
    if (!is_supported(lane)) {
      return refused(lane.name() +
                     ": LibTorch stages run ops of the kinds `forward`, `backward`, `backward "
                     "input`, `backward weight`, `recompute`, `offload`, `reload` and `reduce` "
                     "only, and `user` for tied weights, which needs the `reduce` of another "
                     "stage");
    }
    if (!model.stages.contains(stage)) {
      return refused("the model has no stage " + std::to_string(stage) +
                     ", which the program places here");
    }
    if (lane.kind() == OpKind::recompute && !model.stages.at(stage).recompute) {
      return refused(lane.name() + " runs a forward again: set `recompute` of stage " +
                     std::to_string(stage));
    }
    if (const std::string wrong = check_halves(lane); !wrong.empty()) return refused(wrong);
    if (const std::string wrong = check_offloads(facts, static_cast<core::LaneId>(i));
        !wrong.empty())
      return refused(wrong);
    if (const std::string wrong = check_reductions(model, facts, lane); !wrong.empty())
      return refused(wrong);
    if (const std::string wrong = check_ties(model, facts, lane); !wrong.empty())
      return refused(wrong);
    if (lane.kind() != OpKind::forward) continue;
    const auto data = model.inputs.find(stage);
    const bool has_data = data != model.inputs.end() && data->second;
    if (lane.from_others(Carried::activation) == 0 && !has_data) {
      return refused(lane.name() + " needs no other stage, so it needs `inputs[" +
                     std::to_string(stage) + "]`");
    }
    if (stage == facts.stages - 1 && (!model.labels || !model.loss)) {
      return refused(lane.name() +
                     " is of the last stage, so it needs `labels` and `loss` functions");
    }
    if (const std::string wrong = check_gradients(facts, lane); !wrong.empty())
      return refused(wrong);
  }
  return {};
}

}  // namespace ripeline::runtime
