// Executors over links of every kind do only what the machine allows. In random runs of random
// programs spec/machine.h allows each start, end and arrival when it happens, nothing is refused,
// and when the executors stop, the machine is done or stuck.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/executor.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/machine.h"
#include "tests/support/random_program.h"

namespace ripeline::proptests {
namespace {

using core::Command;
using spec::Event;
using spec::Machine;

constexpr std::uint64_t kSeed = 90'000'000;
constexpr int kPrograms = 3000;
constexpr int kSteps = 2;

// An interpreted arbiter that also reports arrivals to the machine of the whole run.
class ArrivalReporter final : public core::Arbiter {
 public:
  using Arrive = std::function<void(core::Message)>;
  ArrivalReporter(const spec::Program& program, const core::ProgramFacts& facts, int rank,
                  Arrive arrive)
      : inner_(program, facts, rank), arrive_(std::move(arrive)) {}
  [[nodiscard]] const core::ProgramFacts& facts() const override { return inner_.facts(); }
  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] core::Status begin_step(std::int64_t step, int microbatches) override {
    return inner_.begin_step(step, microbatches);
  }
  void on_finished(core::Task task, core::Time now) override { inner_.on_finished(task, now); }
  void on_arrived(core::Message message, core::Time now) override {
    // In the machine, a rendezvous message arrives when its receiver takes it.
    if (!facts().edges[static_cast<std::size_t>(message.edge)].rendezvous) arrive_(message);
    inner_.on_arrived(message, now);
  }
  void on_taken(core::Message message, core::Time now) override {
    arrive_(message);
    inner_.on_taken(message, now);
  }
  void ready(core::Engine engine, core::TaskSet& out) const override { inner_.ready(engine, out); }
  [[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                    core::Time now) const override {
    return inner_.choose(engine, allowed, now);
  }
  [[nodiscard]] core::Task next_in_order(core::Engine engine) const override {
    return inner_.next_in_order(engine);
  }
  void started(core::Task task, core::Time now) override { inner_.started(task, now); }

 private:
  simulate::InterpretedArbiter inner_;
  Arrive arrive_;
};

// One run. Commands are carried out in a random order; ranks may be in different steps.
class JointRun {
 public:
  JointRun(const spec::Program& program, int microbatches, std::uint64_t seed)
      : program_(program),
        storage_(lower::facts_of(program)),
        machine_(program, microbatches),
        microbatches_(microbatches),
        random_(seed),
        states_(kSteps, machine_.initial()) {
    for (int rank = 0; rank < program.ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, rank));
    }
  }

  // Returns the problem that was found; empty if there is none.
  std::string run() {
    for (const auto& rank : ranks_) begin(*rank);
    while (problem_.empty()) {
      for (const auto& rank : ranks_) {
        while (problem_.empty() && poll(*rank)) {
        }
      }
      if (on_their_way_.empty()) break;
      carry_out(on_their_way_[random_() % on_their_way_.size()]);
    }
    if (!problem_.empty()) return problem_;
    done_ = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
      return rank->executor.step() == kSteps - 1 && rank->executor.step_done();
    });
    for (int step = 0; step < kSteps; ++step) {
      const Machine::State& state = states_[static_cast<std::size_t>(step)];
      const bool is_done = machine_.done(state);
      if (done_ && !is_done) return "the executors are done, the machine is not";
      if (is_done) continue;
      if (machine_.stuck(state)) return "";
      return "the executors stopped where the machine goes on\n" + waiting();
    }
    return done_ ? "" : "the machine is done, the executors are not\n" + waiting();
  }
  [[nodiscard]] bool done() const { return done_; }

 private:
  struct Rank {
    Rank(JointRun& run, int rank)
        : arbiter(run.program_, run.storage_.facts(), rank,
                  [&run, this](core::Message m) { run.arrive(*this, m); }),
          ledger(run.storage_.facts()),
          executor({0, rank, 0}, arbiter, agreement, ledger) {}
    ArrivalReporter arbiter;
    core::OneMember agreement;
    core::Ledger ledger;
    core::Executor executor;
    std::int64_t step = -1;  // the step in progress or about to begin
  };
  struct Pending {
    int from = 0;
    std::int64_t step = 0;
    Command command;
  };

  void check(const core::Status& status) {
    if (!status.ok() && problem_.empty()) problem_ = status.message() + "\n" + waiting();
  }

  void happen(std::int64_t step, const Event& event) {
    Machine::State& state = states_[static_cast<std::size_t>(step)];
    if (!problem_.empty()) return;
    if (!machine_.is_enabled(state, event, Machine::Chooser::any)) {
      problem_ = "the machine does not " + machine_.describe(event);
      return;
    }
    machine_.step(state, event);
  }
  void arrive(const Rank& rank, core::Message m) {
    happen(rank.step, {.what = Event::Do::arrive,
                       .lane = at(program_.edges, m.edge).consumer,
                       .microbatch = m.microbatch,
                       .edge = m.edge});
  }

  void begin(Rank& rank) {
    ++rank.step;
    check(rank.executor.begin_step(rank.step, microbatches_, {}));
  }

  // Returns true if a step began; then the rank must be polled again.
  bool poll(Rank& rank) {
    std::vector<Command> commands;
    check(rank.executor.poll({}, commands));
    for (const Command& command : commands) {
      if (command.kind == Command::Kind::start) {
        happen(rank.step, {.what = Event::Do::start,
                           .lane = command.task.lane,
                           .microbatch = command.task.microbatch,
                           .edge = -1});
      }
      on_their_way_.push_back({rank.arbiter.rank(), rank.step, command});
    }
    if (!rank.executor.step_done() || rank.step + 1 == kSteps) return false;
    begin(rank);
    return true;
  }

  Rank& rank_of(core::LaneId lane) {
    return *ranks_[static_cast<std::size_t>(at(program_.lanes, lane).rank)];
  }

  void carry_out(Pending& chosen) {
    std::swap(chosen, on_their_way_.back());
    const Pending pending = on_their_way_.back();
    on_their_way_.pop_back();
    const Command& command = pending.command;
    if (command.kind == Command::Kind::start) {
      happen(pending.step, {.what = Event::Do::end,
                            .lane = command.task.lane,
                            .microbatch = command.task.microbatch,
                            .edge = -1});
      return check(rank_of(command.task.lane).executor.finished(command.task, {}));
    }
    const core::Message m = command.message;
    const spec::Edge& edge = at(program_.edges, m.edge);
    core::Executor& consumer = rank_of(edge.consumer).executor;
    if (command.kind == Command::Kind::send) {
      check(consumer.arrived(pending.step, m, {}, command.ordinal));
    } else if (command.kind == Command::Kind::announce) {
      check(consumer.announced(pending.step, m, command.ordinal));
    } else {
      check(rank_of(edge.producer).executor.granted(pending.step, m, {}));
    }
  }

  [[nodiscard]] std::string waiting() const {
    std::string text;
    for (const auto& rank : ranks_) text += rank->executor.waiting(20);
    return text;
  }

  const spec::Program& program_;
  core::OwnedFacts storage_;
  Machine machine_;
  int microbatches_;
  std::mt19937_64 random_;
  std::vector<Machine::State> states_;  // by step
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Pending> on_their_way_;
  std::string problem_;
  bool done_ = false;
};

TEST(Links, executors_do_what_the_machine_may_do) {
  int done = 0;
  int runs = 0;
  int bounded = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const std::uint64_t seed = kSeed + static_cast<std::uint64_t>(i);
    testing_support::RandomProgramOptions options;
    options.links = options.once = options.before = options.engines = options.shares = true;
    options.pairs = true;
    options.broken_orders = i % 2 == 0;
    const std::string text = testing_support::random_program_text(seed, options);
    const spec::Result<spec::Program> program = spec::compile({"random.ripe", text});
    ASSERT_TRUE(program.ok()) << text;
    const spec::MicrobatchRange& range = program.value().microbatches;
    const int microbatches = std::min(range.min + i % 4, range.max.value_or(range.min + 3));
    const core::OwnedFacts storage = lower::facts_of(program.value());
    simulate::InterpretedArbiter first(program.value(), storage.facts(), 0);
    if (!first.begin_step(0, microbatches).ok()) continue;  // an order that does not expand
    bounded += program.value().inboxes.empty() ? 0 : 1;
    for (std::uint64_t walk = 0; walk < 3; ++walk) {
      JointRun run(program.value(), microbatches, seed * 10 + walk);
      ASSERT_EQ(run.run(), "") << text << "program seed " << seed << ", " << microbatches
                               << " microbatches, walk " << walk;
      done += run.done() ? 1 : 0;
      ++runs;
    }
  }
  std::printf("%d runs, %d of them to the end; %d programs with slots\n", runs, done, bounded);
  EXPECT_GT(done, runs / 3);
  EXPECT_LT(done, runs) << "no program sticks";
  EXPECT_GT(bounded, kPrograms / 8);
}

}  // namespace
}  // namespace ripeline::proptests
