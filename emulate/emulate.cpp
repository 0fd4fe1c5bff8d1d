#include "emulate/emulate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>
#include <thread>

#include "emulate/latency.h"
#include "emulate/together.h"
#include "runtime/transport/local.h"
#include "simulate/overlap.h"

namespace ripeline::emulate {
namespace {

using core::Status;
using core::Time;
using runtime::RankClock;

// From when all ranks are known to be ready until they start.
constexpr auto kLead = std::chrono::milliseconds(5);
constexpr int kWaitingLines = 12;  // of a rank that does not end

// Tasks that only take their time.
class TimedWork final : public runtime::Work {
 public:
  // All are borrowed.
  TimedWork(const core::ProgramFacts& facts, const simulate::Timing& timing,
            runtime::Transport& transport, RankClock& clock, Time limit)
      : facts_(facts), timing_(timing), transport_(transport), clock_(clock), limit_(limit) {}

  // Returns at the start that all ranks agree on.
  Status begin_step(std::int64_t /*step*/, int /*microbatches*/) override {
    const std::int64_t mine = (RankClock::host() + kLead).count();
    runtime::Payload payload(sizeof mine);
    std::memcpy(payload.data(), &mine, sizeof mine);
    std::vector<runtime::Payload> all;
    if (Status s = transport_.all_gather(payload, limit_, all); !s.ok()) return s;
    for (const runtime::Payload& of : all) {
      std::int64_t theirs = 0;
      if (of.size() != sizeof theirs) return {core::StatusCode::invalid, "no time to start at"};
      std::memcpy(&theirs, of.data(), sizeof theirs);
      start_ = std::max(start_, Time{theirs});
    }
    std::this_thread::sleep_until(std::chrono::steady_clock::time_point(start_));
    clock_.woke(start_);
    return {};
  }

  Status run(const runtime::TaskInfo& task, std::span<runtime::Input> /*inputs*/, bool /*wanted*/,
             runtime::Payload& /*output*/) override {
    simulate::Overlap& overlap = overlaps_[engine_of(task.task)];
    for (const simulate::Overlap::Running running : overlap.running()) {
      if (running.task.lane >= 0 && running.end <= task.start) overlap.finish(running.task);
    }
    overlap.start(task.task, timing_.task(task.task), task.start, timing_);
    return {};
  }
  [[nodiscard]] std::optional<Time> ends(core::Task task) const override {
    for (const simulate::Overlap::Running& running : overlaps_[engine_of(task)].running()) {
      if (running.task == task) return running.end;
    }
    return std::nullopt;
  }
  [[nodiscard]] Time start() const { return start_; }

 private:
  [[nodiscard]] std::size_t engine_of(core::Task task) const {
    return static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(task.lane)].engine);
  }

  const core::ProgramFacts& facts_;
  const simulate::Timing& timing_;
  runtime::Transport& transport_;
  RankClock& clock_;
  Time limit_;
  Time start_{0};
  std::array<simulate::Overlap, core::kEngines> overlaps_;
};

}  // namespace

RankRun emulate_rank(core::Arbiter& arbiter, runtime::Transport& inner, int microbatches,
                     const simulate::Timing& timing, Time silence) {
  const core::ProgramFacts& facts = arbiter.facts();
  RankRun run;
  RankClock clock;
  LatencyTransport transport(inner, facts, timing, clock);
  TimedWork work(facts, timing, inner, clock, silence);
  Recorder recorder(arbiter, clock, transport, run);
  runtime::Worker worker(arbiter, transport, work,
                         {.silence = silence,
                          .trace = nullptr,
                          .before_task = nullptr,
                          .costs = timing.costs(),
                          .clock = &clock,
                          .observer = &recorder});
  runtime::StepReport report;
  run.status = worker.step(0, microbatches, report);
  if (!run.status.ok()) run.waiting = worker.waiting(kWaitingLines);
  run.start = work.start();
  run.overshot = transport.overshot();
  run.behind = std::max(run.behind, transport.behind());
  run.peaks.assign(facts.pools.size(), 0);
  for (std::size_t pool = 0; pool < facts.pools.size(); ++pool) {
    if (facts.pools[pool].rank != arbiter.rank()) continue;
    run.peaks[pool] = worker.ledger().peak(static_cast<int>(pool));
  }
  return run;
}

EmulatedRun emulate(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter,
                    int microbatches, const simulate::Timing& timing,
                    const EmulateOptions& options) {
  std::vector<RankRun> runs(static_cast<std::size_t>(facts.ranks));
  std::vector<std::unique_ptr<core::Arbiter>> arbiters;
  for (int rank = 0; rank < facts.ranks; ++rank) arbiters.push_back(make_arbiter(rank));
  auto group = runtime::make_local_group(facts.ranks);
  std::vector<std::thread> threads;
  const auto run_rank = [&](std::size_t rank) {
    RankRun& run = runs[rank];
    try {
      run = emulate_rank(*arbiters[rank], *group[rank], microbatches, timing, options.silence);
      if (run.status.ok()) run.status = group[rank]->finish(options.silence);
    } catch (const std::exception& error) {  // no memory, say: the others must not wait for it
      run.status = {core::StatusCode::failed, error.what()};
      group[rank]->abandon(run.status);
    }
  };
  try {
    for (std::size_t rank = 0; rank < runs.size(); ++rank) threads.emplace_back(run_rank, rank);
  } catch (const std::system_error& error) {
    // Those that run wait for the others: they are told that there are none.
    const core::Status why{core::StatusCode::refused,
                           "no thread for rank " + std::to_string(threads.size()) + " of " +
                               std::to_string(runs.size()) + ": " + error.what()};
    for (std::size_t rank = threads.size(); rank < runs.size(); ++rank) {
      group[rank]->abandon(why);
      runs[rank].status = why;
    }
  }
  for (std::thread& thread : threads) thread.join();
  return together(facts, microbatches, runs, options);
}

}  // namespace ripeline::emulate
