// TrainRules: the rules for programs that LibTorch stages can train, as far as facts alone decide.
//
// The rules concern the kinds of ops, and which ops each op must need. Rules that depend on the
// model, such as on tied weights, are checked when a run starts (runtime/torch/torch_check.h),
// along with these; `ripeline generate --for torch` checks only these, before there is a model.
// Refers to the facts. Immutable: any thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/facts.h"
#include "runtime/training/carried.h"

namespace ripeline::runtime::training {

class TrainRules {
 public:
  explicit TrainRules(const core::ProgramFacts& facts);

  // The reason why LibTorch stages cannot run this lane of the program, with any model; nullopt if
  // they can.
  [[nodiscard]] std::optional<std::string> why_not(core::LaneId lane) const;

  [[nodiscard]] core::OpKind kind_of(core::LaneId lane) const;
  [[nodiscard]] bool stage_has(int stage, core::OpKind kind) const;
  // The number of edges that carry `what` from other stages to the lane, or from it to others.
  [[nodiscard]] int from_others(core::LaneId lane, Carried what) const;
  [[nodiscard]] int to_others(core::LaneId lane, Carried what) const;

 private:
  using Edges = std::vector<const core::EdgeFacts*>;

  [[nodiscard]] const core::LaneFacts& lane_of(core::LaneId lane) const;
  [[nodiscard]] const std::vector<core::LaneId>& lanes_at(int stage) const;
  [[nodiscard]] const Edges& needs(core::LaneId lane) const;
  [[nodiscard]] const Edges& feeds(core::LaneId lane) const;
  [[nodiscard]] bool carries(const core::EdgeFacts& edge, Carried what) const;
  [[nodiscard]] std::string name(core::LaneId lane) const;
  // The name of a lane of the kind at this lane's stage; empty if the stage has none.
  [[nodiscard]] std::string name_at_stage(core::LaneId lane, core::OpKind kind) const;
  [[nodiscard]] bool comes_after(core::LaneId lane, core::OpKind kind) const;
  [[nodiscard]] bool needs_all_gradients(core::LaneId lane) const;
  [[nodiscard]] std::set<core::LaneId> gives_it_gradients(core::LaneId lane) const;
  [[nodiscard]] int period_of(const std::vector<core::LaneId>& lanes) const;

  // Each check returns why the lane breaks a rule, or an empty text.
  [[nodiscard]] std::string check_kind(core::LaneId lane) const;
  [[nodiscard]] std::string check_halves(core::LaneId lane) const;
  [[nodiscard]] std::string check_backwards(core::LaneId lane) const;
  [[nodiscard]] std::string check_offloads(core::LaneId lane) const;
  [[nodiscard]] std::string check_reductions(core::LaneId lane) const;
  [[nodiscard]] std::string check_ties(core::LaneId lane) const;
  [[nodiscard]] std::string check_gradients(core::LaneId lane) const;

  const core::ProgramFacts& facts_;
  std::vector<std::vector<core::LaneId>> stages_;   // per stage, its lanes
  std::vector<std::vector<core::LaneId>> reduces_;  // per rank, its lanes of OpKind::reduce
  std::vector<Edges> needs_;                        // per lane
  std::vector<Edges> feeds_;                        // per lane
};

}  // namespace ripeline::runtime::training
