// Tests that one program does the same with two drivers: the virtual clock, and the training
// runtime with tasks that only take their time.
//
// A machine is sometimes late, and the test measures this. If a rank saw an event, or acted on it,
// more than kLate of a unit late, the run is repeated in slow motion, in which the same lateness is
// a smaller part of a unit. The programs are chosen so that their order stays the same if ranks are
// a little faster or slower.
#include "emulate/emulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <thread>

#include "company.h"
#include "emulate/timed_engine.h"
#include "emulate/together.h"
#include "followed.h"
#include "forecasting.h"
#include "patient.h"
#include "runtime/network/local.h"
#include "tests/runtime/ranks.h"
#include "tests/simulate/runs.h"
#include "tests/support/random_program.h"
#include "tests/support/run_of.h"

namespace ripeline::emulate {
namespace {

using core::Time;
using simulate::RunReport;
using simulate::Timing;
using simulate::TimingOptions;
using testing::HasSubstr;
using testing_support::compiled_schedule;
using namespace std::chrono_literals;

// The limits are in units.
constexpr double kLate = 0.02;       // for one event, so that the order stays the same
constexpr double kTolerance = 0.25;  // for a time that follows from all earlier events
// The nanoseconds in a unit: in the first attempt, and in the last one.
constexpr std::int64_t kFast = 4'000'000;
constexpr std::int64_t kSlow = 256'000'000;

struct Ran {
  RunReport report;
  trace::Record record;
  double behind = 0;  // in units
};

// The tasks of each rank and engine, in the order of their starts, as text.
std::string orders_of(const core::ProgramFacts& facts, const trace::Record& record) {
  std::map<std::pair<int, int>, std::string> orders;
  for (const trace::TaskEvent& e : record.tasks) {
    const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(e.task.lane)];
    orders[{lane.rank, static_cast<int>(lane.engine)}] +=
        " " + std::to_string(e.task.lane) + "/" + std::to_string(e.task.microbatch);
  }
  std::string text;
  for (const auto& [who, tasks] : orders) {
    text += "rank " + std::to_string(who.first) + " engine " + std::to_string(who.second) + ":" +
            tasks + "\n";
  }
  return text;
}

// Runs a program with the same times on both clocks.
class Drivers {
 public:
  // `make` makes the arbiters of emulated runs; if it is empty, they are made at run time.
  Drivers(const spec::Program& program, int microbatches, MakeArbiter make = {})
      : program_(program),
        storage_(lower::facts_of(program)),
        microbatches_(microbatches),
        make_(std::move(make)) {}

  [[nodiscard]] const core::ProgramFacts& facts() const { return storage_.facts(); }

  Ran simulated(const TimingOptions& options) {
    Ran run;
    Timing timing;
    run.report.status = Timing::make(program_, microbatches_, options, timing);
    if (!run.report.status.ok()) return run;
    simulate::Simulator simulator(facts(), [this](int rank) { return arbiter(rank); });
    run.report = simulator.run(microbatches_, timing, {.record = &run.record, .causes = true});
    return run;
  }

  Ran emulated(TimingOptions options, std::int64_t unit, bool sockets = false) {
    options.clock = unit;
    Ran run;
    Timing timing;
    run.report.status = Timing::make(program_, microbatches_, options, timing);
    if (!run.report.status.ok()) return run;
    const EmulateOptions how{.silence = std::chrono::seconds(60), .causes = true};
    const auto make = [this](int rank) { return make_ ? make_(rank) : arbiter(rank); };
    EmulatedRun emulated =
        sockets ? over_sockets(timing, how) : emulate(facts(), make, microbatches_, timing, how);
    run.report = std::move(emulated.run);
    run.record = std::move(emulated.record);
    if (run.report.status.ok() && !run.report.stuck) {
      EXPECT_EQ(testing_support::why_no_run(program_, facts(), microbatches_, run.record), "");
    }
    run.behind = static_cast<double>(emulated.behind.count()) / static_cast<double>(unit);
    return run;
  }

  // Whether the order stays the same if each rank and all messages are a little faster or slower.
  bool is_stable(const TimingOptions& options, const Ran& wanted) {
    constexpr int kTries = 40;
    std::mt19937_64 random(1);
    const auto little = [&random] {
      return kLate * (static_cast<double>(random() % 2001) / 1000 - 1);
    };
    const std::string order = orders_of(facts(), wanted.record);
    for (int i = 0; i < kTries; ++i) {
      TimingOptions other = options;
      for (int rank = 0; rank < program_.ranks; ++rank) {
        other.jitter.slow.emplace(rank, 1.0).first->second *= 1 + little();
      }
      other.latency = options.latency.value_or(0) + kLate + little();
      if (options.control) other.control = *options.control + kLate + little();
      const Ran run = simulated(other);
      if (orders_of(facts(), run.record) != order) return false;
    }
    return true;
  }

  // Repeats emulated runs until one is not late, and compares that one with the simulated run.
  void expect_same(const TimingOptions& options, const Ran& wanted, bool sockets = false) {
    std::string why = "no run";
    for (std::int64_t unit = kFast; unit <= kSlow; unit *= 2) {
      const Ran found = emulated(options, unit, sockets);
      ASSERT_EQ(found.report.status.message(), "");
      ASSERT_FALSE(found.report.stuck) << found.report.waiting;
      why = difference(wanted, found, unit);
      if (why.empty()) return;
      const bool other = orders_of(facts(), wanted.record) != orders_of(facts(), found.record);
      if (other && found.behind <= kLate) break;
      why +=
          "late by " + std::to_string(found.behind) + " units of " + std::to_string(unit) + " ns\n";
    }
    ADD_FAILURE() << why;
  }

 private:
  std::unique_ptr<core::Arbiter> arbiter(int rank) {
    return std::make_unique<simulate::TableArbiter>(program_, facts(), rank);
  }

  EmulatedRun over_sockets(const Timing& timing, const EmulateOptions& how) {
    const testing_support::TemporaryFolder folder;
    auto group = testing_support::connect_group(program_.ranks, folder.path());
    std::vector<RankRun> runs(group.size());
    testing_support::in_threads(program_.ranks, [&](int r) {
      const auto at = static_cast<std::size_t>(r);
      const auto own = arbiter(r);
      EmulatedRank self(*group[at], core::layout_of(facts()), how.silence);
      RankRun run = self.run(*own, timing, microbatches_);
      // The ranks gather their results over the transport, as processes do.
      std::vector<RankRun> all;
      if (run.status.ok()) run.status = self.gather(run, all);
      if (run.status.ok()) run.status = self.finish();
      if (run.status.ok()) run = all.at(at);
      runs[at] = std::move(run);
    });
    return together(facts(), microbatches_, runs, how);
  }

  std::string difference(const Ran& wanted, const Ran& found, std::int64_t unit) const {
    const std::string a = orders_of(facts(), wanted.record);
    const std::string b = orders_of(facts(), found.record);
    if (a != b) return "simulated\n" + a + "emulated\n" + b;
    std::map<std::pair<int, int>, double> ends;
    for (const trace::TaskEvent& e : wanted.record.tasks) {
      ends[{e.task.lane, e.task.microbatch}] = static_cast<double>(e.end.count()) / 1e6;
    }
    for (const trace::TaskEvent& e : found.record.tasks) {
      const double end = static_cast<double>(e.end.count()) / static_cast<double>(unit);
      const double expected = ends[{e.task.lane, e.task.microbatch}];
      if (std::abs(end - expected) <= kTolerance) continue;
      return "lane " + std::to_string(e.task.lane) + ", microbatch " +
             std::to_string(e.task.microbatch) + " ends at " + std::to_string(end) + ", not at " +
             std::to_string(expected) + "\n";
    }
    // The counts of a run are independent of time.
    if (wanted.report.peaks != found.report.peaks) return "other peaks\n";
    if (wanted.report.messages != found.report.messages) return "other messages\n";
    if (wanted.report.controls != found.report.controls) return "other controls\n";
    return {};
  }

  const spec::Program& program_;
  core::OwnedFacts storage_;
  int microbatches_;
  MakeArbiter make_;
};

TimingOptions times(const std::string& jitter, double latency, std::uint64_t seed = 1) {
  TimingOptions options;
  EXPECT_EQ(simulate::Jitter::parse(jitter, options.jitter).message(), "");
  options.latency = latency;
  options.seed = seed;
  return options;
}

TEST(Emulate, does_what_the_virtual_clock_says) {
  constexpr int kWanted = 30;
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 400 && compared < kWanted; ++seed) {
    const std::string text = testing_support::random_program_text(seed, {.max_ranks = 4,
                                                                         .max_microbatches = 5,
                                                                         .links = true,
                                                                         .once = true,
                                                                         .before = true,
                                                                         .engines = true,
                                                                         .keeping = true,
                                                                         .shares = true,
                                                                         .pairs = true});
    SCOPED_TRACE(text);
    const auto compiling = spec::compile({"random.ripe", text});
    ASSERT_TRUE(compiling.ok());
    const spec::Program& program = compiling.value();
    if (!program.unsupported.empty()) continue;
    const int microbatches = program.microbatches.max.value_or(5);
    Drivers drivers(program, microbatches);
    TimingOptions options = times("uniform=0.5,exponential=0.3", 0.2, seed);
    options.control = 0.37;
    const Ran wanted = drivers.simulated(options);
    if (!wanted.report.status.ok() || wanted.report.stuck) continue;
    if (!drivers.is_stable(options, wanted)) continue;
    ++compared;
    drivers.expect_same(options, wanted);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(compared, kWanted);
}

// Hints with patience: notices determine what a rank waits for, and for how long.
TEST(Emulate, holds_as_the_virtual_clock_does) {
  constexpr int kWanted = 4;  // for each case
  for (const bool sockets : {false, true}) {
    for (const char* hint : {"ready by rn", "ready by fc"}) {
      SCOPED_TRACE(std::string(hint) + (sockets ? " over sockets" : ""));
      const spec::Program program =
          compiled_schedule("1f1b_hint", {.defines = {{"ranks", 4}}, .dispatch = hint});
      int compared = 0;
      for (std::uint64_t seed = 1; seed <= 200 && compared < kWanted; ++seed) {
        Drivers drivers(program, 7);
        TimingOptions options = times("uniform=0.45", 0.15, seed);
        const Ran wanted = drivers.simulated(options);
        Time held{0};
        for (const auto& rank : wanted.report.ranks) {
          held += rank[0].idle[static_cast<std::size_t>(trace::Cause::hold)];
        }
        if (held.count() == 0 || !drivers.is_stable(options, wanted)) continue;
        ++compared;
        EXPECT_GT(wanted.report.notices, 0);
        drivers.expect_same(options, wanted, sockets);
        if (testing::Test::HasFailure()) return;
      }
      EXPECT_EQ(compared, kWanted);
    }
  }
}

// Generated arbiters, some with patience, run on the real clock; arbiters made at run time run on
// the virtual clock.
TEST(Emulate, of_generated_arbiters_is_the_same) {
  struct Case {
    const char* name;
    MakeArbiter make;
  };
  const Case kCases[] = {{"patient", patient::make_arbiter},
                         {"forecasting", forecasting::make_arbiter},
                         {"followed", followed::make_arbiter},
                         {"company", company::make_arbiter}};
  constexpr int kWanted = 3;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    std::ifstream file(std::string(RIPELINE_SOURCE_DIR "/tests/generated/") + c.name + ".ripe");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const spec::Program program = spec::compile({c.name, text}).value();
    Drivers drivers(program, 5, c.make);
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 200 && compared < kWanted; ++seed) {
      const TimingOptions options = times("uniform=0.45,exponential=0.2", 0.15, seed);
      const Ran wanted = drivers.simulated(options);
      if (!drivers.is_stable(options, wanted)) continue;
      ++compared;
      drivers.expect_same(options, wanted);
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(compared, kWanted);
  }
}

// One set of connections carries any number of steps, of several programs in turn.
TEST(Emulate, takes_turns_with_programs_over_one_transport) {
  constexpr int kRanks = 3;
  constexpr int kMicrobatches = 5;
  constexpr int kRounds = 3;
  struct Side {
    spec::Program program;
    core::OwnedFacts facts;
    Timing timing = {};
    RunReport simulated = {};
  };
  std::vector<Side> sides;
  for (const auto& [name, dispatch] :
       {std::pair("zb_h1", ""), std::pair("1f1b_hint", "ready by fc"), std::pair("1f1b", "")}) {
    spec::Program program =
        compiled_schedule(name, {.defines = {{"ranks", kRanks}}, .dispatch = dispatch});
    core::OwnedFacts facts = lower::facts_of(program);
    Side& side = sides.emplace_back(Side{std::move(program), std::move(facts)});
    TimingOptions options = times("uniform=0.3,tails=10:3,fifo", 0.1);
    options.clock = kFast;
    ASSERT_EQ(Timing::make(side.program, kMicrobatches, options, side.timing).message(), "");
  }
  for (Side& side : sides) {
    simulate::Simulator simulator(side.facts.facts(), [&](int rank) {
      return std::make_unique<simulate::TableArbiter>(side.program, side.facts.facts(), rank);
    });
    side.simulated = simulator.run(kMicrobatches, side.timing, {});
  }
  const testing_support::TemporaryFolder folder;
  auto group = testing_support::connect_group(kRanks, folder.path());
  std::vector<std::vector<RankRun>> steps(kRounds * sides.size(), std::vector<RankRun>(kRanks));
  testing_support::in_threads(kRanks, [&](int r) {
    const auto at = static_cast<std::size_t>(r);
    EmulatedRank self(*group[at], core::layout_of(sides.front().facts.facts()), 60s);
    std::vector<std::unique_ptr<core::Arbiter>> arbiters;
    for (const Side& side : sides) {
      arbiters.push_back(
          std::make_unique<simulate::TableArbiter>(side.program, side.facts.facts(), r));
    }
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const std::size_t turn = step % sides.size();
      steps[step][at] = self.run(*arbiters[turn], sides[turn].timing, kMicrobatches);
    }
    EXPECT_EQ(self.finish().message(), "");
  });
  for (std::size_t step = 0; step < steps.size(); ++step) {
    SCOPED_TRACE(step);
    const Side& side = sides[step % sides.size()];
    const EmulatedRun run = together(side.facts.facts(), kMicrobatches, steps[step], {});
    ASSERT_EQ(run.run.status.message(), "");
    EXPECT_EQ(run.run.tasks, side.simulated.tasks);
    EXPECT_EQ(run.run.messages, side.simulated.messages);
    if (side.program.dispatch.hint.patience) continue;
    // Overhead can only make a run longer than its simulated times.
    EXPECT_GE(run.run.makespan, side.simulated.makespan);
    EXPECT_EQ(run.run.peaks, side.simulated.peaks);
  }
}

TEST(Emulate, uses_no_cpu_while_tasks_run) {
  spec::ElaborateOptions many;
  many.defines["ranks"] = 16;
  const spec::Program program = compiled_schedule("1f1b", many);
  Drivers drivers(program, 8);
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  const Ran run = drivers.emulated(times("", 0.1), 5'000'000);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  ASSERT_EQ(run.report.status.message(), "");
  Time busy{0};
  for (const auto& rank : run.report.ranks) busy += rank[0].busy;
  EXPECT_EQ(busy, Time{16 * 8 * 3 * 5'000'000LL}) << "each task takes exactly its time";
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                      static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e9;
  EXPECT_LT(used, 0.25 * static_cast<double>(busy.count()) / 1e9);
}

TEST(Emulate, has_a_cause_for_every_interval) {
  const spec::Program program = compiled_schedule("bf");
  Drivers drivers(program, 8);
  const Ran run = drivers.emulated(times("uniform=0.3", 0.3), kFast);
  ASSERT_EQ(run.report.status.message(), "");
  for (const auto& rank : run.report.ranks) {
    const simulate::EngineReport& engine = rank[0];
    Time idle{0};
    for (const Time part : engine.idle) idle += part;
    EXPECT_EQ(idle, engine.last - engine.first - engine.busy);
    EXPECT_EQ(engine.idle[static_cast<std::size_t>(trace::Cause::unknown)], Time{0});
  }
}

TEST(Emulate, of_members_says_how_long_they_agreed) {
  const spec::Program program = compiled_schedule(R"(
pipeline p {
  microbatches any;
  stages 2;
  place s on s;
  tensor_parallel 2 { agree by intersection; }
  op F forward { needs F at prev; collectives 1; acquires activation; }
  op B backward { needs F at here, B at next; collectives 1; releases activation; }
  resource activation per stage { capacity 2; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
})");
  const Ran run = Drivers(program, 8).emulated(times("", 0.3), kFast);
  ASSERT_EQ(run.report.status.message(), "");
  for (const auto& rank : run.report.ranks) {
    EXPECT_GT(rank[0].idle[static_cast<std::size_t>(trace::Cause::agreement)], Time{0});
    EXPECT_EQ(rank[0].idle[static_cast<std::size_t>(trace::Cause::order)], Time{0});
  }
}

TEST(Emulate, of_a_program_that_sticks_says_who_waits) {
  const spec::Program program = compiled_schedule(R"(
pipeline stuck { microbatches 2; stages 2; place s on s;
  op F { needs F at prev; acquires a; }  op B { needs F at here of all, B at next; releases a; }
  resource a per stage { capacity 1; }  dispatch ready; })");
  const core::OwnedFacts storage = lower::facts_of(program);
  TimingOptions options;
  options.clock = 1'000'000;
  Timing timing;
  ASSERT_TRUE(Timing::make(program, 2, options, timing).ok());
  const EmulatedRun run =
      emulate(storage.facts(),
              [&](int rank) {
                return std::make_unique<simulate::TableArbiter>(program, storage.facts(), rank);
              },
              2, timing, {.silence = std::chrono::milliseconds(300)});
  EXPECT_TRUE(run.run.status.ok()) << run.run.status.message();
  EXPECT_TRUE(run.run.stuck);
  EXPECT_THAT(run.run.waiting, HasSubstr("rank 0: 0F1 waits for room in a of stage 0: 1 of 1 held, "
                                         "until 0B0 ends"));
  EXPECT_EQ(run.run.tasks, 2);
}

// The program is stuck, but its ranks go on exchanging forecasts (tests/simulate/hints_test.cpp).
TEST(Emulate, of_a_program_that_sticks_ends_though_its_ranks_go_on_talking) {
  const spec::Program program = compiled_schedule(R"(
pipeline talks { microbatches 2; stages 4; place s on s < 2 ? s : 3 - s;
  op F forward { needs F at prev; acquires a; }
  op B backward { needs F at here, B at next; releases a; }
  resource a per rank { capacity 1; }
  order fixed on r { (F@0 F@1 B@1 B@0) * microbatches; }
  hint waits { follow fixed; forecasts; }  dispatch ready by waits; })");
  const core::OwnedFacts storage = lower::facts_of(program);
  TimingOptions options;
  options.clock = 1'000'000;
  options.latency = 2;
  Timing timing;
  ASSERT_TRUE(Timing::make(program, 2, options, timing).ok());
  const EmulatedRun run =
      emulate(storage.facts(),
              [&](int rank) {
                return std::make_unique<simulate::TableArbiter>(program, storage.facts(), rank);
              },
              2, timing, {.silence = std::chrono::milliseconds(300)});
  EXPECT_TRUE(run.run.status.ok()) << run.run.status.message();
  EXPECT_TRUE(run.run.stuck);
  EXPECT_GT(run.run.notices, 20);
  EXPECT_EQ(run.run.tasks, 2);
}

// The engine is not polled between the end of the first task and the start of the second one.
TEST(TimedEngine, knows_what_has_ended_when_another_task_starts) {
  const spec::Program program = compiled_schedule(R"(
pipeline pairs { microbatches 4; stages 1; place s on s;
  op F { cost 4; }  op B { cost 6; needs F at here; }
  pair F, B { cost 12; }  dispatch ready; })");
  const core::OwnedFacts storage = lower::facts_of(program);
  TimingOptions options;
  options.clock = 1'000'000;
  Timing timing;
  ASSERT_EQ(Timing::make(program, 4, options, timing).message(), "");
  const runtime::RankClock clock;
  const Time start = clock.now() - std::chrono::seconds(10);
  const auto call = [](core::Task task, Time at) {
    runtime::Call made;
    made.task.task = task;
    made.task.start = at;
    return made;
  };
  const auto ends = [&](Time second) {
    TimedEngine engine(storage.facts(), timing, clock);
    EXPECT_EQ(engine.next(), Time::max());
    engine.start(call({0, 1}, start));
    EXPECT_EQ(engine.next(), start + 4ms);
    engine.start(call({1, 0}, second));
    std::vector<std::pair<int, Time>> found;
    runtime::Ended ended;
    while (engine.ended(ended)) {
      found.emplace_back(ended.call.task.task.lane, ended.end - start);
      EXPECT_EQ(ended.begin, ended.call.task.start);
    }
    return found;
  };
  using testing::ElementsAre;
  EXPECT_THAT(ends(start + 5s), ElementsAre(std::pair(0, 4ms), std::pair(1, 5006ms)));
  EXPECT_THAT(ends(start + 4ms), ElementsAre(std::pair(0, 4ms), std::pair(1, 10ms)));
  EXPECT_THAT(ends(start), ElementsAre(std::pair(0, 12ms), std::pair(1, 12ms)))
      << "beside each other both are slower";
}

// If a rank begins late, others send to it meanwhile. Their messages must not be seen at a time
// that the rank's clock, which is then set back to the start, has not reached.
TEST(LatencyTransport, gives_nothing_of_a_step_before_it_has_begun) {
  const spec::Program program =
      compiled_schedule("1f1b", {.defines = {{"ranks", 2}}, .dispatch = {}});
  const core::OwnedFacts storage = lower::facts_of(program);
  Timing timing;
  TimingOptions options;
  options.clock = 1000;
  options.latency = 1;
  ASSERT_EQ(Timing::make(program, 2, options, timing).message(), "");
  auto group = runtime::network::make_local_group(2);
  runtime::RankClock clock;
  LatencyTransport transport(*group[1], clock);
  transport.set_program(storage.facts(), timing);
  const Time start = runtime::RankClock::host();
  core::EdgeId edge = 0;
  while (!storage.facts().crosses_ranks(edge)) ++edge;
  const runtime::signals::Data message{{0, {edge, 0}}};
  ASSERT_TRUE(group[0]->send(1, {message, start + 1ms}, {}).ok());
  ASSERT_TRUE(group[0]->send(1, {runtime::signals::Gather{}}, {}).ok());
  std::this_thread::sleep_until(std::chrono::steady_clock::time_point(start + 5ms));
  std::vector<runtime::Delivery> deliveries;
  ASSERT_TRUE(transport.poll(0ms, deliveries).ok());
  ASSERT_EQ(deliveries.size(), 1U) << "only what is not of the program";
  EXPECT_TRUE(deliveries[0].envelope.is<runtime::signals::Gather>());
  clock.woke(start);
  transport.begin();
  deliveries.clear();
  ASSERT_TRUE(transport.poll(60s, deliveries).ok());
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_EQ(deliveries[0].at, start + 1ms + 1us);
  EXPECT_GE(clock.now(), deliveries[0].at);
}

TEST(RankRun, comes_back_from_its_bytes) {
  RankRun run;
  run.status = {core::StatusCode::timeout, "nothing"};
  run.waiting = "rank 0: 0F0 runs\n";
  run.entries = {{.kind = Entry::Kind::sent, .what = 3, .microbatch = 4, .at = Time{5}},
                 {.kind = Entry::Kind::idle, .holds = true}};
  run.peaks = {1, 2, 3};
  run.controls = 7;
  run.notices = 8;
  run.start = Time{9};
  run.overshot = Time{10};
  run.behind = Time{11};
  const runtime::Blob payload = encode(run);
  RankRun back;
  ASSERT_EQ(decode(payload, back).message(), "");
  EXPECT_EQ(encode(back), payload);
  EXPECT_EQ(back.status.message(), "nothing");
  EXPECT_EQ(back.entries[0].at, Time{5});
  EXPECT_TRUE(back.entries[1].holds);
  EXPECT_EQ(back.behind, Time{11});
  for (std::size_t size = 0; size < payload.size(); ++size) {
    runtime::Blob cut(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size));
    RankRun none;
    EXPECT_FALSE(decode(cut, none).ok()) << size << " bytes";
  }
}

}  // namespace
}  // namespace ripeline::emulate
