// A law of training on LibTorch: the gradients of any proved program, of chains and graphs, with
// the backward in one piece and in two halves, in one pass or several, under autocast or not, with
// graphs kept or computed again, are those of the model in one process.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lower/facts.h"
#include "proptests/seeds.h"
#include "proptests/torch/graph_model.h"
#include "runtime/delay.h"
#include "runtime/torch/train.h"
#include "runtime/transport/local.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::proptests {
namespace {

using namespace std::chrono_literals;
using core::Status;
using spec::OpKind;
using spec::Program;

// Gradients of another order of summation: means of at most 18 terms of magnitude 1, in float32.
constexpr double kTolerance = 1e-5;
// Messages overtake each other often: a third of them is late by more than a task takes.
constexpr const char* kDelays = "jitter=0.9,rare=30:0.4";

testing_support::RandomProgramOptions trainable() {
  testing_support::RandomProgramOptions options;
  options.max_ranks = 4;
  options.max_microbatches = 6;
  options.forks = true;
  options.broken_orders = false;
  options.assertions = false;
  return options;
}

bool is_split(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const spec::Op& op) { return op.kind == OpKind::backward_weight; });
}

bool order_of_sum_is_fixed(const Program& program) {
  if (program.dispatch.in_order) return true;
  return std::all_of(program.ops.begin(), program.ops.end(), [](const spec::Op& op) {
    return op.sequential || (op.kind != OpKind::backward && op.kind != OpKind::backward_weight);
  });
}

struct Trained {
  Status status;
  double loss = 0;
  runtime::TorchModel model;
  std::size_t live = 0;
};

using Transports = std::vector<std::unique_ptr<runtime::Transport>>;

// One step of each rank, in a thread of its own.
std::vector<Trained> train(const Program& program, const core::ProgramFacts& facts,
                           const GraphModel& model, int microbatches, int passes,
                           Transports& transports, const runtime::DelayPlan& delays) {
  std::vector<Trained> results(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&, rank] {
      torch::set_num_threads(1);
      const int self = static_cast<int>(rank);
      const std::unique_ptr<runtime::Transport> transport = std::move(transports[rank]);
      simulate::InterpretedArbiter arbiter(program, facts, self);
      runtime::TorchWork work(make_model(model, self));
      runtime::Run run(*transport, {.limits = {.stall = 20s}});
      runtime::TrainerOptions options{.passes = passes};
      options.rank.due = runtime::due_of(delays, facts);
      runtime::TorchTrainer trainer(arbiter, run, work, nullptr, options);
      runtime::TrainReport report;
      Trained& result = results[rank];
      result.status = trainer.step(microbatches, report);
      if (result.status.ok()) result.status = run.finish(20s);
      result.loss = report.loss;
      result.model = work.model();
      result.live = work.live();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// How many of the cases had each feature, printed at the end.
class Shares {
 public:
  ~Shares() {
    std::printf("%d cases", cases_);
    for (const auto& [feature, count] : counts_) {
      std::printf(", %s %d %%", feature.c_str(), 100 * count / cases_);
    }
    std::printf("\n");
  }
  void add(const std::map<std::string, bool>& features) {
    ++cases_;
    for (const auto& [feature, is_there] : features) counts_[feature] += is_there ? 1 : 0;
  }

 private:
  int cases_ = 0;
  std::map<std::string, int> counts_;
};

// One random program, model and timing.
void check_gradients(Shares& shares) {
  const std::string text = testing_support::random_program_text(any_seed(), trainable());
  spec::Result<Program> compiled = spec::compile({"random.ripe", text});
  RC_ASSERT(compiled.ok());
  const Program program = std::move(compiled).value();
  RC_PRE(program.ops.size() > 1U);
  const verify::Verdict verdict = verify::verify(program);
  RC_PRE(verdict.outcome == verify::Outcome::proved);
  RC_LOG(text);
  const int microbatches =
      any_of(program.microbatches.min, program.microbatches.max.value_or(6) + 1);
  const core::OwnedFacts storage =
      lower::facts_with_bounds_for_testing(program, verdict.proved->peaks());
  const int passes = any_of(1, 6) < 4 ? 1 : any_of(2, 4);
  const GraphModel model{.facts = storage.facts(),
                         .seed = any_seed(),
                         .is_narrow = any_of(0, 3) == 0,
                         .recomputes = any_of(0, 3) == 0};
  runtime::DelayPlan delays;
  RC_ASSERT(runtime::DelayPlan::parse(kDelays, any_seed(), delays).ok());
  auto transports = runtime::make_local_group(program.ranks);
  const std::vector<Trained> ranks =
      train(program, storage.facts(), model, microbatches, passes, transports, delays);

  torch::set_num_threads(1);
  const WholeModel whole = train_whole(model, 0, passes * microbatches);
  const double tolerance = order_of_sum_is_fixed(program) ? 0 : kTolerance;
  shares.add({{"bitwise", tolerance == 0},
              {"split", is_split(program)},
              {"a graph", text.find("edges") != std::string::npos},
              {"several passes", passes > 1},
              {"bfloat16", model.is_narrow},
              {"recomputed", model.recomputes}});
  std::size_t stages = 0;
  for (const Trained& rank : ranks) {
    RC_LOG(rank.status.message());
    RC_ASSERT(rank.status.ok());
    RC_ASSERT(rank.live == 0U);
    RC_ASSERT(std::abs(rank.loss - whole.loss) <= tolerance);
    for (const auto& [number, stage] : rank.model.stages) {
      ++stages;
      const auto& wanted = whole.stages[static_cast<std::size_t>(number)].parameters;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const torch::Tensor& mine = stage.parameters[i].tensor.grad();
        const torch::Tensor& theirs = wanted[i].tensor.grad();
        RC_ASSERT(mine.defined() == theirs.defined());
        if (!mine.defined()) continue;
        const double difference = (mine - theirs).abs().max().item<double>();
        RC_LOG(std::to_string(number) + " " + wanted[i].name + ": " + std::to_string(difference));
        RC_ASSERT(difference <= tolerance);
      }
    }
  }
  RC_ASSERT(stages == program.stages.size());
}

TEST(TorchGradients, of_a_proved_program_are_those_of_the_model_in_one_process) {
  Shares shares;
  EXPECT_TRUE(rc::check("gradients are those of the model in one process",
                        [&shares] { check_gradients(shares); }));
}

}  // namespace
}  // namespace ripeline::proptests
