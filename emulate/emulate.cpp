#include "emulate/emulate.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "emulate/timed_engine.h"
#include "emulate/together.h"
#include "runtime/environment.h"
#include "runtime/network/local.h"
#include "runtime/network/socket.h"
#include "runtime/protocol/neighbours.h"
#include "runtime/run.h"

namespace ripeline::emulate {
namespace {

using core::Status;
using core::Time;
using runtime::RankClock;

// The time from the agreement that all ranks are ready until they start.
constexpr auto kLead = std::chrono::milliseconds(5);
constexpr int kWaitingLines = 12;  // the most lines shown for a rank that does not end

Status check_processes(const runtime::RankEnvironment& self, const core::Layout& layout,
                       std::string_view name) {
  if (self.ranks != layout.processes()) {
    return {core::StatusCode::invalid, std::string(name) + " has " + layout.text() + ", and " +
                                           std::to_string(self.ranks) + " processes were started"};
  }
  if (self.local_ranks != self.ranks) {
    return {core::StatusCode::invalid,
            std::to_string(self.local_ranks) + " of the " + std::to_string(self.ranks) +
                " processes are on this host: an emulation is on one host"};
  }
  return {};
}

}  // namespace

EmulatedRank::EmulatedRank(runtime::Transport& transport, const core::Layout& layout, Time silence)
    : silence_(silence),
      transport_(transport, clock_),
      run_(transport_, {.layout = layout, .limits = {.stall = silence}, .clock = &clock_}) {}

Status EmulatedRank::agree_on_start(Time& start) {
  const std::int64_t mine = (RankClock::host() + kLead).count();
  runtime::Blob bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  std::vector<runtime::Blob> all;
  if (Status s = run_.gather("the start", std::move(bytes), all); !s.ok()) return s;
  for (const runtime::Blob& of : all) {
    std::int64_t theirs = 0;
    if (of.size() != sizeof theirs) return {core::StatusCode::invalid, "no time to start at"};
    std::memcpy(&theirs, of.data(), sizeof theirs);
    start = std::max(start, Time{theirs});
  }
  std::this_thread::sleep_until(std::chrono::steady_clock::time_point(start));
  clock_.woke(start);
  transport_.begin();
  return {};
}

RankRun EmulatedRank::run(core::Arbiter& arbiter, const simulate::Timing& timing,
                          int microbatches) {
  const core::ProgramFacts& facts = arbiter.facts();
  RankRun run;
  transport_.set_program(facts, timing);
  if (run.status = agree_on_start(run.start); !run.status.ok()) return run;
  TimedEngine engine(facts, timing, clock_);
  Recorder recorder(arbiter, clock_, transport_, run);
  runtime::protocol::Rank rank(arbiter, run_.layout(), run_.self(),
                               {.costs = timing.costs(), .observer = &recorder});
  run.status = run_.step(rank, engine, step_++, microbatches);
  if (!run.status.ok()) run.waiting = rank.executor().waiting(kWaitingLines);
  run.overshot = transport_.overshot();
  run.behind = std::max(run.behind, transport_.behind());
  run.peaks.assign(facts.pools.size(), 0);
  for (std::size_t pool = 0; pool < facts.pools.size(); ++pool) {
    if (facts.pools[pool].rank != arbiter.rank()) continue;
    run.peaks[pool] = rank.ledger().peak(static_cast<int>(pool));
  }
  return run;
}

Status EmulatedRank::gather(const RankRun& mine, std::vector<RankRun>& all) {
  std::vector<runtime::Blob> parts;
  if (Status s = run_.gather("what the ranks did", encode(mine), parts); !s.ok()) return s;
  all.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (Status s = decode(parts[i], all[i]); !s.ok()) return s;
  }
  return {};
}

EmulatedRun emulate(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter,
                    int microbatches, const simulate::Timing& timing,
                    const EmulateOptions& options) {
  const core::Layout layout = core::layout_of(facts);
  std::vector<RankRun> runs(static_cast<std::size_t>(layout.processes()));
  std::vector<std::unique_ptr<core::Arbiter>> arbiters;
  for (int process = 0; process < layout.processes(); ++process) {
    arbiters.push_back(make_arbiter(layout.at(process).rank));
  }
  auto group = runtime::network::make_local_group(layout.processes());
  std::vector<std::thread> threads;
  std::atomic<bool> no_memory{false};
  const auto run_process = [&](std::size_t process) {
    RankRun& run = runs[process];
    EmulatedRank self(*group[process], layout, options.silence);
    try {
      run = self.run(*arbiters[process], timing, microbatches);
      if (run.status.ok()) run.status = self.finish();
    } catch (const std::bad_alloc& error) {  // the others must not wait for this process
      no_memory = true;
      run.status = self.fail({core::StatusCode::failed, error.what()});
    } catch (const std::exception& error) {
      run.status = self.fail({core::StatusCode::failed, error.what()});
    }
  };
  try {
    for (std::size_t process = 0; process < runs.size(); ++process) {
      threads.emplace_back(run_process, process);
    }
  } catch (const std::system_error& error) {
    // The running processes wait for all others, so they receive the reason why some did not start.
    const core::Status why{core::StatusCode::refused,
                           "no thread for process " + std::to_string(threads.size()) + " of " +
                               std::to_string(runs.size()) + ": " + error.what()};
    for (std::size_t process = threads.size(); process < runs.size(); ++process) {
      runs[process].status = runtime::Run(*group[process]).fail(why);
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (no_memory) throw std::bad_alloc();
  return together(facts, microbatches, runs, options);
}

Status emulate_process(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter,
                       int microbatches, const simulate::Timing& timing,
                       const EmulateOptions& options, std::optional<EmulatedRun>& whole) {
  runtime::RankEnvironment self;
  if (Status s = runtime::read_rank_environment(self); !s.ok()) return s;
  const core::Layout layout = core::layout_of(facts);
  if (Status s = check_processes(self, layout, facts.name); !s.ok()) return s;
  std::unique_ptr<runtime::Transport> transport;
  Status status = runtime::network::connect_in_folder(
      {.rank = self.rank,
       .ranks = self.ranks,
       .neighbours = runtime::protocol::neighbours_of(self.rank, layout, facts),
       .program_hash = facts.hash,
       .configuration = {{"microbatches", std::to_string(microbatches)}}},
      self.folder, transport);
  if (!status.ok()) return status;
  const std::unique_ptr<core::Arbiter> arbiter = make_arbiter(layout.at(self.rank).rank);
  EmulatedRank rank(*transport, layout, options.silence);
  const RankRun mine = rank.run(*arbiter, timing, microbatches);
  if (!mine.status.ok()) return mine.status;
  std::vector<RankRun> all;
  status = rank.gather(mine, all);
  if (status.ok()) status = rank.finish();
  if (!status.ok()) return status;
  if (self.rank == 0) whole = together(facts, microbatches, std::move(all), options);
  return {};
}

}  // namespace ripeline::emulate
