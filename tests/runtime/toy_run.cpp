#include "tests/runtime/toy_run.h"

#include <gtest/gtest.h>

#include "runtime/network/local.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/runtime/ranks.h"
#include "tests/support/run_of.h"

namespace ripeline::testing_support {

ProvedText::ProvedText(const std::string& text, int ranks) {
  const std::string source = spec::library_text(text).value_or(text);
  spec::ElaborateOptions options;
  options.defines["ranks"] = ranks;
  const auto program = spec::compile({"test.ripe", source}, options);
  if (!program.ok()) ADD_FAILURE() << text << ": does not compile";
  verdict_ = verify::verify(program.value());
  if (!verdict_.proved) ADD_FAILURE() << text << ": " << verify::name_of(verdict_.outcome);
  facts_ = std::make_unique<core::OwnedFacts>(lower::facts_of(*verdict_.proved));
}

ToyRun::ToyRun(const ProvedText& proved, runtime::ToyModel model) : proved_(proved), model_(model) {
  model_.stages = proved.facts().stages;
  for (int process = 0; process < core::layout_of(proved.facts()).processes(); ++process) {
    ranks_.push_back(std::make_unique<ToyRank>(model_));
  }
}

void ToyRun::run(int steps, int microbatches) {
  const int ranks = static_cast<int>(ranks_.size());
  for (const auto& rank : ranks_) rank->record.clear();
  auto group = connect ? connect(ranks) : runtime::network::make_local_group(ranks);
  in_threads(ranks, [&](int r) {
    auto& transport = group[static_cast<std::size_t>(r)];
    run_one(r, *transport, steps, microbatches);
    transport.reset();
  });
  expect_run(microbatches);
}

// Checks the records of member 0 of replica 0; a trace has only these.
void ToyRun::expect_run(int microbatches) const {
  const core::Layout layout = core::layout_of(proved_.facts());
  trace::Record all;
  for (int process = 0; process < layout.processes(); ++process) {
    const ToyRank& rank = *ranks_[static_cast<std::size_t>(process)];
    if (!rank.status.ok()) return;
    if (layout.at(process) != core::Coordinates{.rank = layout.at(process).rank}) continue;
    const trace::Record& record = rank.options.trace != nullptr ? *rank.options.trace : rank.record;
    all.tasks.insert(all.tasks.end(), record.tasks.begin(), record.tasks.end());
    all.messages.insert(all.messages.end(), record.messages.begin(), record.messages.end());
  }
  EXPECT_EQ(why_no_run(proved_.program(), proved_.facts(), microbatches, all), "");
}

void ToyRun::run_rank(int r, runtime::Transport& transport, int steps, int microbatches) {
  ToyRank& self = rank(r);
  const core::Layout layout = core::layout_of(proved_.facts());
  simulate::InterpretedArbiter arbiter(proved_.program(), proved_.facts(), layout.at(r).rank);
  runtime::Run run(transport, {.layout = layout, .limits = {.stall = self.silence}});
  std::unique_ptr<runtime::TaskEngine> engine;
  if (make_engine) {
    engine = make_engine(r, run);
  } else if (in_engine_thread) {
    engine = std::make_unique<runtime::ThreadEngine>(
        *self.work, [&run] { run.wake(); }, self.before_task);
  } else {
    engine = std::make_unique<runtime::InlineEngine>(*self.work, self.before_task);
  }
  runtime::protocol::RankOptions options = self.options;
  if (options.trace == nullptr) options.trace = &self.record;
  runtime::protocol::Rank of_run(arbiter, run.layout(), r, options);
  for (int step = 0; step < steps; ++step) {
    self.status = run.step(of_run, *engine, step, microbatches);
    self.started = of_run.started();
    if (!self.status.ok()) return;
    self.reports.push_back(of_run.report());
    self.gradients.push_back(self.toy.gradients());
    self.losses.push_back(self.toy.loss());
  }
  self.status = run.finish(std::chrono::seconds(10));
}

void ToyRun::expect_reference(int steps, int microbatches) const {
  for (int step = 0; step < steps; ++step) {
    const runtime::ToyResult wanted = runtime::reference_gradients(model_, step, microbatches);
    std::vector<std::vector<double>> found(wanted.gradients.size());
    double loss = 0;
    const core::Layout layout = core::layout_of(proved_.facts());
    for (int process = 0; process < layout.processes(); ++process) {
      const ToyRank& rank = *ranks_[static_cast<std::size_t>(process)];
      ASSERT_TRUE(rank.status.ok()) << rank.status.message();
      const auto at = static_cast<std::size_t>(step);
      for (const auto& [stage, gradient] : rank.gradients[at]) {
        EXPECT_EQ(gradient, wanted.gradients[static_cast<std::size_t>(stage)])
            << layout.name(process) << ", step " << step;
        found[static_cast<std::size_t>(stage)] = gradient;
      }
      if (layout.at(process).member == 0) loss += rank.losses[at];
      EXPECT_EQ(rank.toy.live(), 0U);
    }
    EXPECT_EQ(found, wanted.gradients) << "step " << step;
    EXPECT_EQ(loss, wanted.loss) << "step " << step;
  }
}

}  // namespace ripeline::testing_support
