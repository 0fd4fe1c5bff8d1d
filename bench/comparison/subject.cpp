#include "bench/comparison/subject.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "verify/verify.h"

namespace ripeline::bench::comparison {

Subject::Subject(std::string name, spec::Program program)
    : name_(std::move(name)), program_(std::move(program)) {
  const verify::Verdict verdict = verify::verify(program_);
  if (!verdict.proved) throw std::runtime_error(name_ + ": not proved");
  facts_ = std::make_shared<const core::OwnedFacts>(lower::facts_of(*verdict.proved));
  proved_.assign(static_cast<std::size_t>(program_.ranks), -1);
  for (const core::PoolFacts& pool : facts().pools) {
    std::int64_t& of_rank = proved_[static_cast<std::size_t>(pool.rank)];
    if (of_rank >= 0 || pool.bound < 0)
      throw std::runtime_error(name_ + ": memory of another kind");
    of_rank = pool.bound;
  }
}

simulate::Timing Subject::timing(const simulate::TimingOptions& options, std::uint64_t seed,
                                 int microbatches) const {
  simulate::TimingOptions drawn = options;
  drawn.seed = seed;
  simulate::Timing timing;
  const core::Status made = simulate::Timing::make(program_, microbatches, drawn, timing);
  if (!made.ok()) throw std::runtime_error(name_ + ": " + made.message());
  return timing;
}

std::uint64_t with_start(std::uint64_t order, core::Task task) {
  constexpr std::uint64_t kPrime = 1099511628211U;  // FNV-1a
  for (const std::int32_t number : {task.lane, task.microbatch}) {
    order = (order ^ static_cast<std::uint32_t>(number)) * kPrime;
  }
  return order;
}

std::vector<StepResult> simulate_runs(const Subject& subject, const simulate::TimingOptions& times,
                                      int microbatches, int first_seed, int seeds) {
  const core::ProgramFacts& facts = subject.facts();
  const auto ranks = static_cast<std::size_t>(facts.ranks);
  simulate::Simulator simulator(facts, [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(subject.program(), facts, rank);
  });
  std::vector<StepResult> runs;
  for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
    const simulate::Timing timing =
        subject.timing(times, static_cast<std::uint64_t>(seed), microbatches);
    trace::Record record;
    const simulate::RunReport report = simulator.run(microbatches, timing, {.record = &record});
    if (report.stuck || !report.status.ok()) {
      throw std::runtime_error(subject.name() + ", simulated: " + report.status.message() +
                               report.waiting);
    }
    StepResult& run = runs.emplace_back();
    run.makespan = static_cast<double>(report.makespan.count()) /
                   static_cast<double>(timing.unit().nanoseconds);
    run.held.assign(ranks, 0);
    run.orders.assign(ranks, kNoStarts);
    run.notices = report.notices;
    for (std::size_t pool = 0; pool < facts.pools.size(); ++pool) {
      run.held[static_cast<std::size_t>(facts.pools[pool].rank)] = report.peaks[pool];
    }
    for (const trace::TaskEvent& e : record.tasks) {
      const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(e.task.lane)];
      std::uint64_t& order = run.orders[static_cast<std::size_t>(lane.rank)];
      order = with_start(order, e.task);
    }
  }
  return runs;
}

}  // namespace ripeline::bench::comparison
