// Laws of training: what was proved of a random program holds in its runs, under random timings.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "proptests/seeds.h"
#include "proptests/training_run.h"
#include "spec/elaborate.h"
#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::proptests {
namespace {

using spec::OpKind;
using spec::Program;

// The tolerance for gradients summed in another order, over at most 6 terms of magnitude 1.
constexpr double kTolerance = 1e-12;

testing_support::RandomProgramOptions trainable() {
  testing_support::RandomProgramOptions options;
  options.max_ranks = 4;
  options.max_microbatches = 6;
  options.joins = false;  // the toy model is a chain
  options.broken_orders = false;
  options.assertions = false;
  return options;
}

// A proved program, with its source for error messages. Seeds without a proof are discarded.
struct Case {
  std::string text;
  Program program;
  verify::Verdict verdict;
  int microbatches;
};
Case proved_case(std::uint64_t seed) {
  Case c;
  c.text = testing_support::random_program_text(seed, trainable());
  spec::Result<Program> program = spec::compile({"random.ripe", c.text});
  RC_ASSERT(program.ok());
  c.program = std::move(program).value();
  c.verdict = verify::verify(c.program);
  RC_PRE(c.verdict.outcome == verify::Outcome::proved);
  const int most = c.program.microbatches.max.value_or(6);
  c.microbatches = any_of(c.program.microbatches.min, most + 1);
  return c;
}

bool has_backward(const Program& program) { return program.ops.size() > 1; }

// Whether the op that adds to the gradients runs in microbatch order on every stage.
bool order_of_sum_is_fixed(const Program& program) {
  if (program.dispatch.in_order) return true;
  return std::all_of(program.ops.begin(), program.ops.end(), [](const spec::Op& op) {
    return op.sequential || (op.kind != OpKind::backward && op.kind != OpKind::backward_weight);
  });
}

std::vector<RankResult> train(const Case& c, std::uint64_t delay_seed, runtime::ToyModel& model) {
  model = {.stages = static_cast<int>(c.program.stages.size()), .width = 4, .seed = delay_seed};
  RC_LOG(c.text);
  return train_one_step(c.program, c.verdict.proved->peaks(), model, c.microbatches, delay_seed);
}

RC_GTEST_PROP(Training, of_a_proved_program_ends_with_every_task_once_within_the_proved_peaks, ()) {
  const Case c = proved_case(any_seed());
  runtime::ToyModel model;
  const auto ranks = train(c, any_seed(), model);
  std::set<std::pair<int, int>> tasks;
  for (const RankResult& rank : ranks) {
    RC_LOG(rank.status.message());
    RC_ASSERT(rank.status.ok());
    RC_ASSERT(rank.live == 0u || !has_backward(c.program));
    for (const core::Task& task : rank.started) {
      RC_ASSERT(tasks.insert({task.lane, task.microbatch}).second);
    }
    for (std::size_t pool = 0; pool < rank.peaks.size(); ++pool) {
      const auto& bound = c.verdict.proved->peaks()[pool];
      RC_ASSERT(!bound || rank.peaks[pool] <= *bound);
    }
  }
  RC_ASSERT(tasks.size() == c.program.lanes.size() * static_cast<std::size_t>(c.microbatches));
}

RC_GTEST_PROP(Training, of_a_proved_program_gives_the_gradients_of_the_unpipelined_model, ()) {
  const Case c = proved_case(any_seed());
  RC_PRE(has_backward(c.program));
  runtime::ToyModel model;
  const auto ranks = train(c, any_seed(), model);
  const runtime::ToyResult expected = runtime::reference_gradients(model, 0, c.microbatches);
  const double tolerance = order_of_sum_is_fixed(c.program) ? 0 : kTolerance;
  RC_TAG(tolerance == 0 ? std::string("bitwise") : std::string("within a tolerance"));
  std::size_t stages = 0;
  for (const RankResult& rank : ranks) {
    RC_LOG(rank.status.message());
    RC_ASSERT(rank.status.ok());
    for (const auto& [stage, gradient] : rank.gradients) {
      const auto& wanted = expected.gradients[static_cast<std::size_t>(stage)];
      RC_ASSERT(gradient.size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        RC_ASSERT(std::abs(gradient[i] - wanted[i]) <= tolerance);
      }
      ++stages;
    }
  }
  RC_ASSERT(stages == c.program.stages.size());
}

}  // namespace
}  // namespace ripeline::proptests
