#include "proptests/training_run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "lower/facts.h"
#include "runtime/network/local.h"
#include "runtime/protocol/delay.h"
#include "runtime/run.h"
#include "simulate/interpreter.h"

namespace ripeline::proptests {
namespace {

using namespace std::chrono_literals;

// Messages often overtake each other, as a third of them are late by more than a task's time.
constexpr const char* kDelays =
    "compute=F:0.05,compute=B:0.08,compute=I:0.05,compute=W:0.03,jitter=0.9,rare=30:0.4";

RankResult run_rank(const spec::Program& program, const core::ProgramFacts& facts, int rank,
                    runtime::Transport& transport, const runtime::ToyModel& model, int microbatches,
                    const runtime::protocol::DelayPlan& delays) {
  RankResult result;
  simulate::InterpretedArbiter arbiter(program, facts, rank);
  runtime::ToyWork work(model);
  runtime::Run run(transport, {.limits = {.stall = 20s}});
  runtime::InlineEngine engine(work, [&](const runtime::TaskInfo& info) {
    std::this_thread::sleep_for(delays.compute(facts, info.step, info.task));
  });
  runtime::protocol::Rank of_run(arbiter, run.layout(), run.self(),
                                 {.due = runtime::protocol::due_of(delays, facts)});
  result.status = run.step(of_run, engine, 0, microbatches);
  if (result.status.ok()) result.status = run.finish(20s);
  result.started = of_run.started();
  result.gradients = work.gradients();
  result.loss = work.loss();
  result.live = work.live();
  result.peaks.assign(facts.pools.size(), 0);
  for (std::size_t pool = 0; pool < facts.pools.size(); ++pool) {
    if (facts.pools[pool].rank == rank) {
      result.peaks[pool] = of_run.ledger().peak(static_cast<int>(pool));
    }
  }
  return result;
}

}  // namespace

std::vector<RankResult> train_one_step(const spec::Program& program,
                                       const std::vector<std::optional<std::int64_t>>& proved_peaks,
                                       const runtime::ToyModel& model, int microbatches,
                                       std::uint64_t delay_seed) {
  const core::OwnedFacts storage = lower::facts_with_bounds_for_testing(program, proved_peaks);
  runtime::protocol::DelayPlan delays;
  std::vector<RankResult> results(static_cast<std::size_t>(program.ranks));
  if (core::Status status = runtime::protocol::DelayPlan::parse(kDelays, delay_seed, delays);
      !status.ok()) {
    results[0].status = status;
    return results;
  }
  auto group = runtime::network::make_local_group(program.ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < program.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    threads.emplace_back([&, rank, r] {
      results[r] = run_rank(program, storage.facts(), rank, *group[r], model, microbatches, delays);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace ripeline::proptests
