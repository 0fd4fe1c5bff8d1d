// The cost of a decision while many tasks are ready.
//
// The program is the last rank of bf: F, then B of the same microbatch, with room for one
// activation. N microbatches are always ready for F. A cycle is two decisions, F then B, each with
//   choose() + started() + on_finished(),
// and one on_arrived() that makes another F ready. Messages arrive in a random order with a fixed
// seed. `priority_queue` is the least that any dispatcher must do: per decision it removes the best
// of N ready tasks and adds one. It checks no need, no room and no order between F and B.
// `decision` is the time of one decision. `table` is the arbiter that is made at run time;
// `interpreted` asks spec::Machine. `executor` is the generated arbiter inside an Executor, which
// also checks what was proved; a cycle has two poll(), two finished() and one arrived().
// `intersection`, `vote` and `leader` have such an executor for each of 2 or 8 members, whose
// ballots arrive at once; there `decision` is the time of one member's decision.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/arbiter.h"
#include "core/executor.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "tests/codegen/goldens/bf.h"

namespace ripeline {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr int kRank = 3;
constexpr core::LaneId kForward = 6;  // 3F
constexpr core::EdgeId kArrival = 8;  // 2F to 3F
constexpr int kDecisions = 2;         // per cycle

constexpr const char* kProgram = R"(
pipeline bf {
  microbatches any;
  stages 4;
  place s on s;
  op F forward  { cost 1;  needs F at prev;             acquires activation; }
  op B backward { cost 2;  needs F at here, B at next;  releases activation; }
  resource activation per stage { capacity 4 - s; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)";

std::vector<int> shuffled(int microbatches) {
  std::vector<int> order(static_cast<std::size_t>(microbatches));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(kSeed));
  return order;
}

std::int64_t ready_tasks(const core::Arbiter& arbiter, int microbatches) {
  core::TaskSet ready;
  arbiter.ready(core::Engine::compute, ready);
  std::int64_t count = 0;
  for (int m = 0; m < microbatches; ++m) {
    for (const core::LaneId lane : {kForward, kForward + 1}) count += ready.contains({lane, m});
  }
  return count;
}

void report(benchmark::State& state) {
  state.counters["decision"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kDecisions),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void decide(core::Arbiter& arbiter) {
  const core::Choice choice = arbiter.choose(core::Engine::compute, nullptr, {});
  benchmark::DoNotOptimize(choice);
  arbiter.started(choice.task, {});
  arbiter.on_finished(choice.task, {});
}

// Begins a new step after `cycles` cycles. The time to begin a step is not measured.
void run(benchmark::State& state, core::Arbiter& arbiter, int cycles) {
  const int ready = static_cast<int>(state.range(0));
  const std::vector<int> order = shuffled(ready + cycles);
  std::size_t next = order.size();
  for (auto _ : state) {
    if (next == order.size()) {
      state.PauseTiming();
      if (!arbiter.begin_step(0, ready + cycles).ok()) state.SkipWithError("begin_step");
      for (next = 0; next < static_cast<std::size_t>(ready); ++next) {
        arbiter.on_arrived({kArrival, order[next]}, {});
      }
      if (ready_tasks(arbiter, ready + cycles) != ready) state.SkipWithError("not as many ready");
      state.ResumeTiming();
    }
    decide(arbiter);
    decide(arbiter);
    arbiter.on_arrived({kArrival, order[next++]}, {});
  }
  report(state);
}

void generated(benchmark::State& state) {
  bf::Arbiter arbiter(kRank);
  run(state, arbiter, 8192);
}

void dispatch(benchmark::State& state, core::Executor& executor,
              std::vector<core::Command>& commands) {
  commands.clear();
  if (!executor.poll({}, commands).ok()) state.SkipWithError("poll");
  if (!executor.finished(commands.back().task, {}).ok()) state.SkipWithError("finished");
}

void executor(benchmark::State& state) {
  constexpr int kCycles = 8192;
  const int ready = static_cast<int>(state.range(0));
  const std::vector<int> order = shuffled(ready + kCycles);
  std::vector<core::Command> commands;
  std::unique_ptr<core::Executor> rank;
  bf::Arbiter arbiter(kRank);
  core::OneMember alone;
  core::Ledger ledger(bf::facts);
  std::size_t next = order.size();
  for (auto _ : state) {
    if (next == order.size()) {
      state.PauseTiming();
      rank =
          std::make_unique<core::Executor>(core::Coordinates{0, kRank, 0}, arbiter, alone, ledger);
      if (!rank->begin_step(0, ready + kCycles, {}).ok()) state.SkipWithError("begin_step");
      for (next = 0; next < static_cast<std::size_t>(ready); ++next) {
        if (!rank->arrived(0, {kArrival, order[next]}, {}).ok()) state.SkipWithError("arrived");
      }
      state.ResumeTiming();
    }
    dispatch(state, *rank, commands);
    dispatch(state, *rank, commands);
    if (!rank->arrived(0, {kArrival, order[next++]}, {}).ok()) state.SkipWithError("arrived");
  }
  report(state);
}

// The members of the rank, which agree on each task.
class Group {
 public:
  Group(core::Agree agree, int members) : facts_(bf::facts) {
    static constexpr core::LaneId kCollectives[] = {kForward, kForward + 1};
    facts_.members = members;
    facts_.agree = agree;
    facts_.collectives = kCollectives;
    for (int i = 0; i < members; ++i) {
      const core::Coordinates self{0, kRank, i};
      Member& made = *members_.emplace_back(std::make_unique<Member>());
      made.agreement = core::make_agreement(facts_, self);
      made.executor =
          std::make_unique<core::Executor>(self, made.arbiter, *made.agreement, made.ledger);
    }
  }

  [[nodiscard]] bool begin_step(int microbatches) {
    return all([&](Member& m) { return m.executor->begin_step(step_, microbatches, {}).ok(); }) &&
           ++step_ > 0;
  }
  [[nodiscard]] bool arrived(int microbatch) {
    const auto step = step_ - 1;
    return all([&](Member& m) {
      return m.executor->arrived(step, {kArrival, microbatch}, {}).ok();
    });
  }
  // Makes all members start the next task and end it.
  [[nodiscard]] bool dispatch() {
    std::size_t started = 0;
    while (started < members_.size()) {
      for (std::size_t i = 0; i < members_.size(); ++i) {
        commands_.clear();
        if (!members_[i]->executor->poll({}, commands_).ok()) return false;
        for (const core::Command& command : commands_) {
          if (command.kind == core::Command::Kind::ballot && !give(i)) return false;
          if (command.kind != core::Command::Kind::start) continue;
          task_ = command.task;
          ++started;
        }
      }
    }
    return all([&](Member& m) { return m.executor->finished(task_, {}).ok(); });
  }

 private:
  struct Member {
    bf::Arbiter arbiter{kRank};
    core::Ledger ledger{bf::facts};
    std::unique_ptr<core::Agreement> agreement;
    std::unique_ptr<core::Executor> executor;
  };
  template <class Do>
  bool all(const Do& action) {
    return std::all_of(members_.begin(), members_.end(), [&](auto& m) { return action(*m); });
  }
  bool give(std::size_t from) {
    const core::Ballot& ballot = members_[from]->executor->ballot(core::Engine::compute);
    for (std::size_t to = 0; to < members_.size(); ++to) {
      if (to == from) continue;
      if (!members_[to]->agreement->heard(static_cast<int>(from), ballot).ok()) return false;
    }
    return true;
  }

  core::ProgramFacts facts_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<core::Command> commands_;
  core::Task task_;
  std::int64_t step_ = 0;
};

void group(benchmark::State& state, core::Agree agree) {
  constexpr int kCycles = 2048;
  const int ready = static_cast<int>(state.range(0));
  const int members = static_cast<int>(state.range(1));
  const std::vector<int> order = shuffled(ready + kCycles);
  std::unique_ptr<Group> group;
  std::size_t next = order.size();
  for (auto _ : state) {
    if (next == order.size()) {
      state.PauseTiming();
      group = std::make_unique<Group>(agree, members);
      bool good = group->begin_step(ready + kCycles);
      for (next = 0; next < static_cast<std::size_t>(ready); ++next) {
        good = good && group->arrived(order[next]);
      }
      if (!good) state.SkipWithError("begin");
      state.ResumeTiming();
    }
    const bool good = group->dispatch() && group->dispatch() && group->arrived(order[next++]);
    if (!good) state.SkipWithError("dispatch");
  }
  state.counters["decision"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kDecisions * members),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void table(benchmark::State& state) {
  const spec::Program program = spec::compile({"bf.ripe", kProgram}).value();
  const core::OwnedFacts storage = lower::facts_of(program);
  simulate::TableArbiter arbiter(program, storage.facts(), kRank);
  run(state, arbiter, 8192);
}

void interpreted(benchmark::State& state) {
  const spec::Program program = spec::compile({"bf.ripe", kProgram}).value();
  const core::OwnedFacts storage = lower::facts_of(program);
  simulate::InterpretedArbiter arbiter(program, storage.facts(), kRank);
  run(state, arbiter, 64);
}

struct Ready {
  int op;  // 0 for F, 1 for B, which is preferred
  int microbatch;
  bool operator<(const Ready& other) const {
    return op != other.op ? op < other.op : microbatch > other.microbatch;
  }
};

void priority_queue(benchmark::State& state) {
  const auto ready = static_cast<std::size_t>(state.range(0));
  const std::vector<int> order = shuffled(static_cast<int>(ready) + 8192);
  std::priority_queue<Ready> queue;
  for (std::size_t i = 0; i < ready; ++i) queue.push({0, order[i]});
  std::size_t next = 0;
  for (auto _ : state) {
    const Ready forward = queue.top();
    queue.pop();
    queue.push({1, forward.microbatch});
    const Ready backward = queue.top();
    queue.pop();
    benchmark::DoNotOptimize(backward);
    queue.push({0, order[next]});
    next = next + 1 < order.size() ? next + 1 : 0;
  }
  report(state);
}

BENCHMARK(generated)->Arg(64)->Arg(4096);
BENCHMARK(executor)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(group, intersection, core::Agree::intersection)
    ->ArgsProduct({{64, 4096}, {2, 8}});
BENCHMARK_CAPTURE(group, vote, core::Agree::vote)->ArgsProduct({{64, 4096}, {2, 8}});
BENCHMARK_CAPTURE(group, leader, core::Agree::leader)->ArgsProduct({{64, 4096}, {2, 8}});
BENCHMARK(table)->Arg(64)->Arg(4096);
BENCHMARK(interpreted)->Arg(64)->Arg(4096);
BENCHMARK(priority_queue)->Arg(64)->Arg(4096);

}  // namespace
}  // namespace ripeline

BENCHMARK_MAIN();
