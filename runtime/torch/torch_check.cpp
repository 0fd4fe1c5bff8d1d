#include "runtime/torch/torch_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/print.h"
#include "runtime/training/train_rules.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using core::StatusCode;

bool is_tied(const NamedTensor& parameter) { return !parameter.tied.empty(); }

// Checks that stages with tied parameters, and no others, have an op that adds up tied gradients.
std::string check_ties(const TorchModel& model, const training::TrainRules& rules,
                       core::LaneId lane, const std::string& name, int number) {
  const std::string stage = "stage " + std::to_string(number);
  const std::vector<NamedTensor>& parameters = model.stages.at(number).parameters;
  const bool has_ties = std::any_of(parameters.begin(), parameters.end(), is_tied);
  if (has_ties && !rules.stage_has(number, OpKind::user)) {
    return stage + " has tied weights, and no op `user` that adds up their gradients";
  }
  if (rules.kind_of(lane) != OpKind::user || has_ties) return "";
  return name + " adds up the gradients of tied weights, and no parameter of " + stage +
         " says that it is one (`tied`)";
}

// Refuses a tensor that is in two stages, since it would be reduced and updated twice.
std::string check_parameters(const TorchModel& model) {
  std::map<const void*, int> known;  // the stage of each tensor
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

// The error if the model lacks something for a lane that LibTorch stages can run; else empty.
std::string check_lane(const TorchModel& model, const core::ProgramFacts& facts,
                       const training::TrainRules& rules, core::LaneId lane) {
  const OpKind kind = rules.kind_of(lane);
  const std::string name = core::lane_name(facts, lane);
  const int stage = facts.lanes[static_cast<std::size_t>(lane)].stage;
  if (!model.stages.contains(stage)) {
    return "the model has no stage " + std::to_string(stage) + ", which the program places here";
  }
  if (kind == OpKind::recompute && !model.stages.at(stage).recompute) {
    return name + " runs a forward again: set `recompute` of stage " + std::to_string(stage);
  }
  if (std::string wrong = check_ties(model, rules, lane, name, stage); !wrong.empty()) {
    return wrong;
  }
  if (kind != OpKind::forward) return "";
  const auto data = model.inputs.find(stage);
  const bool has_data = data != model.inputs.end() && data->second;
  if (rules.from_others(lane, training::Carried::activation) == 0 && !has_data) {
    return name + " needs no other stage, so it needs `inputs[" + std::to_string(stage) + "]`";
  }
  if (stage == facts.stages - 1 && (!model.labels || !model.loss)) {
    return name + " is of the last stage, so it needs `labels` and `loss` functions";
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
  const training::TrainRules rules(facts);
  for (core::LaneId lane = 0; lane < static_cast<core::LaneId>(facts.lanes.size()); ++lane) {
    const core::LaneFacts& own = facts.lanes[static_cast<std::size_t>(lane)];
    if (own.rank != rank) continue;
    if (const auto why = rules.why_not(lane)) return refused(*why);
    if (const std::string why = check_lane(model, facts, rules, lane); !why.empty()) {
      return refused(why);
    }
  }
  if (facts.replicas != model.replicas.size()) {
    return refused("the program has " + std::to_string(facts.replicas) +
                   " replicas, and `replicas` is a group of " +
                   std::to_string(model.replicas.size()));
  }
  return {};
}

}  // namespace ripeline::runtime
