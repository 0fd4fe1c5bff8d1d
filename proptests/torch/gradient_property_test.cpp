// A law of training on LibTorch: the gradients of any proved program are those of the model in one
// process. The law covers random programs and the library's schedules with each of their
// dispatches; chains and graphs; tensor-parallel members and replicas; the backward in one piece,
// in two halves and, at one stage, in one piece for some microbatches; one pass or several;
// autocast or not; graphs kept, computed again or offloaded; threads and sockets; and random
// timings.
//
// If the program fixes the order of the sums, gradients equal those of one process to the bit, even
// with two replicas, whose sum does not depend on their order. Several members add up the parts of
// a product in another order, so their gradients are only near those of one process, but equal to
// the bit those of any other run of the same layout. If sums have no fixed order, gradients are
// near. Members always agree to the bit on undivided gradients, and replicas on all gradients.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "lower/facts.h"
#include "proptests/seeds.h"
#include "proptests/torch/drawn_program.h"
#include "proptests/torch/graph_model.h"
#include "proptests/torch/shares.h"
#include "proptests/torch/threaded_run.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::proptests {
namespace {

using runtime::NamedTensor;
using spec::OpKind;
using spec::Program;

// The tolerance, as a part of the largest gradient, if float32 numbers are summed differently.
constexpr double kTolerance = 1e-5;
// The tolerance if members add up parts of a product in bfloat16, which has 8 bits.
constexpr double kNarrowTolerance = 0.05;

// Limits of the verifier. Programs that are not proved within these are left out.
constexpr verify::VerifyOptions kJudge{
    .solver_steps = 5'000'000, .search_states = 20'000, .find_runs = false};

bool is_split(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const spec::Op& op) { return op.kind == OpKind::backward_weight; });
}

bool is_mixed(const Program& program) {
  return is_split(program) &&
         std::any_of(program.ops.begin(), program.ops.end(),
                     [](const spec::Op& op) { return op.kind == OpKind::backward; });
}

bool is_offloaded(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const spec::Op& op) { return op.kind == OpKind::offload; });
}

bool has_backward(const Program& program) {
  return is_split(program) ||
         std::any_of(program.ops.begin(), program.ops.end(),
                     [](const spec::Op& op) { return op.kind == OpKind::backward; });
}

// Whether each stage sums its gradients in the order of the microbatches. If some backwards are
// whole and others split, tasks of two ops add to the gradients in the order in which they run.
bool order_of_sum_is_fixed(const Program& program) {
  if (is_mixed(program)) return false;
  if (program.dispatch.in_order) return true;
  return std::all_of(program.ops.begin(), program.ops.end(), [](const spec::Op& op) {
    return op.sequential || (op.kind != OpKind::backward && op.kind != OpKind::backward_weight);
  });
}

// The largest difference; infinite if only one gradient is defined or the difference is no number.
double difference_of(const NamedTensor& mine, const torch::Tensor& wanted) {
  const torch::Tensor& gradient = mine.tensor.grad();
  if (gradient.defined() != wanted.defined()) return INFINITY;
  if (!wanted.defined()) return 0;
  const auto difference = (gradient - wanted).abs().max().item<double>();
  return std::isnan(difference) ? INFINITY : difference;
}

using Parameters = std::vector<NamedTensor>;

// The largest difference in a stage, over the parameters for which `is_wanted` is true.
template <class IsWanted>
double largest_difference(const Parameters& mine, const Parameters& others,
                          const IsWanted& is_wanted) {
  RC_ASSERT(mine.size() == others.size());
  double largest = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!is_wanted(mine[i])) continue;
    const torch::Tensor& whole = others[i].tensor.grad();
    const bool is_share = others[i].share.count != mine[i].share.count && whole.defined();
    const double difference =
        difference_of(mine[i], is_share ? mine[i].share.part_of(whole) : whole);
    RC_LOG(mine[i].name + ": " + std::to_string(difference));
    largest = std::max(largest, difference);
  }
  return largest;
}
bool any_parameter(const NamedTensor& /*parameter*/) { return true; }
bool is_whole(const NamedTensor& parameter) { return !parameter.share.is_part(); }

struct Expected {
  WholeModel whole;
  std::string claim;  // the counter in Shares for differences from `whole`
  double tolerance = 0;
};

double largest_gradient(const WholeModel& whole) {
  double largest = 0;
  for (const runtime::TorchStage& stage : whole.stages) {
    for (const NamedTensor& parameter : stage.parameters) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      if (gradient.defined()) largest = std::max(largest, gradient.abs().max().item<double>());
    }
  }
  return largest;
}

void check_against_one_process(const std::vector<Trained>& processes, const Expected& expected,
                               Shares& shares) {
  const double scale = largest_gradient(expected.whole);
  RC_ASSERT(scale > 0);
  std::set<int> stages;
  for (const Trained& process : processes) {
    RC_LOG(process.status.message());
    RC_ASSERT(process.status.ok());
    RC_ASSERT(process.live == 0U);
    RC_ASSERT(std::abs(process.loss - expected.whole.loss) <= expected.tolerance);
    RC_ASSERT(process.loss == processes.front().loss);
    for (const auto& [number, parameters] : process.parameters) {
      RC_LOG("stage " + std::to_string(number));
      stages.insert(number);
      const Parameters& wanted = expected.whole.stages[static_cast<std::size_t>(number)].parameters;
      const double difference = largest_difference(parameters, wanted, any_parameter) / scale;
      shares.add_difference(expected.claim, difference);
      RC_ASSERT(difference <= expected.tolerance);
    }
  }
  RC_ASSERT(stages.size() == expected.whole.stages.size());
}

// Members agree on gradients of undivided parameters, and replicas agree on all gradients.
void check_alike(const std::vector<Trained>& processes, const core::Layout& layout) {
  for (int process = 0; process < layout.processes(); ++process) {
    const core::Coordinates self = layout.at(process);
    const auto of = [&](core::Coordinates at) -> const Trained& {
      return processes[static_cast<std::size_t>(layout.process(at))];
    };
    for (const auto& [number, parameters] : of(self).parameters) {
      RC_LOG(layout.name(process) + ", stage " + std::to_string(number));
      const auto& member = of({.replica = self.replica, .rank = self.rank, .member = 0});
      RC_ASSERT(largest_difference(parameters, member.parameters.at(number), is_whole) == 0);
      const auto& replica = of({.replica = 0, .rank = self.rank, .member = self.member});
      RC_ASSERT(largest_difference(parameters, replica.parameters.at(number), any_parameter) == 0);
    }
  }
}

void check_same(const std::vector<Trained>& processes, const std::vector<Trained>& again) {
  for (std::size_t process = 0; process < processes.size(); ++process) {
    RC_LOG(again[process].status.message());
    RC_ASSERT(again[process].status.ok());
    RC_ASSERT(again[process].loss == processes[process].loss);
    for (const auto& [number, parameters] : processes[process].parameters) {
      RC_LOG("again, process " + std::to_string(process) + ", stage " + std::to_string(number));
      RC_ASSERT(
          largest_difference(parameters, again[process].parameters.at(number), any_parameter) == 0);
    }
  }
}

Link any_link() { return Link{any_of<std::uint8_t>(0, 3)}; }

RunPlan draw_plan(int microbatches) {
  return {.microbatches = microbatches,
          .passes = any_of(1, 6) < 4 ? 1 : any_of(2, 4),
          .link = any_link(),
          .timing = any_seed()};
}

std::map<std::string, bool> features_of(const DrawnProgram& drawn, const GraphModel& model,
                                        const RunPlan& plan) {
  const core::Layout layout = core::layout_of(model.facts);
  const spec::Dispatch& dispatch = drawn.program.dispatch;
  return {{"TP 2", layout.members == 2},
          {"TP 4", layout.members == 4},
          {"DP 2", layout.replicas == 2},
          {"TP and DP", layout.members > 1 && layout.replicas > 1},
          {"8 processes", layout.processes() == 8},
          {"library", drawn.source != "random"},
          {"in order", dispatch.in_order},
          {"keeping", dispatch.keeps >= 0},
          {"a hint that waits", dispatch.hint.patience.has_value()},
          {"split", is_split(drawn.program)},
          {"split and whole", is_mixed(drawn.program)},
          {"offloaded", is_offloaded(drawn.program)},
          {"a graph", drawn.text.find("  edges ") != std::string::npos},
          {"several passes", plan.passes > 1},
          {"bfloat16", model.is_narrow},
          {"recomputed", model.recomputes},
          {"Unix sockets", plan.link == Link::unix_sockets},
          {"TCP", plan.link == Link::tcp_sockets}};
}

Expected expect(const GraphModel& model, const RunPlan& plan, bool is_fixed) {
  torch::set_num_threads(1);
  const core::Layout layout = core::layout_of(model.facts);
  WholeModel whole = train_whole(model, 0, plan.passes * plan.microbatches, layout.replicas);
  if (layout.members > 1 && model.is_narrow)
    return {std::move(whole), "parts in bfloat16", kNarrowTolerance};
  if (layout.members > 1 || !is_fixed) return {std::move(whole), "another order", kTolerance};
  return {std::move(whole), "bitwise", 0};
}

// Checks one drawn program, model and timing.
void check_gradients(Shares& shares) {
  const DrawnProgram drawn = draw_program();
  shares.draw();
  RC_PRE(has_backward(drawn.program));
  const verify::Verdict verdict = verify::verify(drawn.program, kJudge);
  RC_PRE(verdict.outcome == verify::Outcome::proved);
  RC_LOG(drawn.text);
  const core::OwnedFacts storage =
      lower::facts_with_bounds_for_testing(drawn.program, verdict.proved->peaks());
  const GraphModel model{.facts = storage.facts(),
                         .seed = any_seed(),
                         .is_narrow = any_of(0, 3) == 0,
                         .recomputes = any_of(0, 3) == 0};
  RunPlan plan = draw_plan(drawn.microbatches);
  const core::Layout layout = core::layout_of(model.facts);
  const bool is_fixed = order_of_sum_is_fixed(drawn.program);
  const bool runs_again = is_fixed && layout.members > 1;
  const std::vector<Trained> processes = train(drawn.program, model, plan);
  const Expected expected = expect(model, plan, is_fixed);
  std::map<std::string, bool> features = features_of(drawn, model, plan);
  features["bitwise to one process"] = expected.tolerance == 0;
  features["bitwise to another run"] = runs_again;
  shares.add(drawn.source, features);

  check_against_one_process(processes, expected, shares);
  check_alike(processes, layout);
  if (!runs_again) return;
  plan.link = any_link();
  plan.timing = any_seed();
  check_same(processes, train(drawn.program, model, plan));
}

TEST(TorchGradients, of_a_proved_program_are_those_of_the_model_in_one_process) {
  // c10d's store looks up the name of each peer that connects; this limits the time of a look-up.
  setenv("RES_OPTIONS", "timeout:1", 1);
  Shares shares;
  EXPECT_TRUE(rc::check("gradients are those of the model in one process",
                        [&shares] { check_gradients(shares); }));
}

}  // namespace
}  // namespace ripeline::proptests
