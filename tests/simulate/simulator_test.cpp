// Tests runs on the virtual clock: exact closed forms, random draws, and causes of waits.
#include "simulate/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/simulate/runs.h"
#include "trace/write.h"

namespace ripeline::simulate::simulator_test {
namespace {

using core::Time;
using testing::HasSubstr;
using testing_support::compiled_schedule;
using testing_support::TableRun;

constexpr std::int64_t kUnit = 1'000'000;  // nanoseconds

Time units(std::int64_t n) { return Time{n * kUnit}; }

RunReport run_of(const std::string& what, const std::map<std::string, std::int64_t>& defines, int m,
                 const TimingOptions& options = {}) {
  spec::ElaborateOptions elaborate;
  elaborate.defines = defines;
  const spec::Program program = compiled_schedule(what, elaborate);
  return TableRun(program).run(m, options);
}

TimingOptions with_latency(double latency) {
  TimingOptions options;
  options.latency = latency;
  return options;
}

TimingOptions with_jitter(const std::string& spec, std::uint64_t seed = 1) {
  TimingOptions options;
  EXPECT_EQ(Jitter::parse(spec, options.jitter).message(), "");
  options.seed = seed;
  options.latency = 0.05;
  return options;
}

TEST(Timing, that_the_clock_cannot_count_is_refused) {
  const spec::Program program = compiled_schedule("1f1b");
  for (const double latency : {1e13, 1e300, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN(), -1.0}) {
    Timing timing;
    const core::Status made = Timing::make(program, 4, with_latency(latency), timing);
    EXPECT_EQ(made.code(), core::StatusCode::invalid) << latency;
    EXPECT_NE(made.message().find("a message takes"), std::string::npos) << made.message();
  }
  Timing timing;
  EXPECT_TRUE(Timing::make(program, 4, with_latency(1e9), timing).ok());
}

// If F = 1 and B = 2, the bubble is (p - 1)(F + B) for every number of microbatches.
TEST(ClosedForm, of_1f1b_and_gpipe) {
  for (const int p : {1, 2, 3, 4, 7, 8, 16, 32}) {
    for (const int m : {1, 2, p - 1, p, p + 1, 2 * p, 3 * p + 1, 8 * p}) {
      if (m < 1) continue;
      SCOPED_TRACE("p " + std::to_string(p) + ", m " + std::to_string(m));
      for (const char* name : {"1f1b", "gpipe"}) {
        const RunReport run = run_of(name, {{"ranks", p}}, m);
        ASSERT_TRUE(run.status.ok() && !run.stuck) << run.waiting;
        EXPECT_EQ(run.bubble(), units(3 * (p - 1))) << name;
        EXPECT_EQ(run.makespan, units(3 * (m + p - 1))) << name;
        EXPECT_EQ(run.tasks, 2 * m * p);
        EXPECT_EQ(run.messages, 2 * m * (p - 1));
        for (int r = 0; r < p; ++r) {
          const int most = name[0] == 'g' ? m : std::min(m, p - r);
          EXPECT_EQ(run.peaks[static_cast<std::size_t>(r)], most) << name << ", rank " << r;
        }
      }
    }
  }
}

// A latency c delays the consumer, but occupies no engine.
TEST(ClosedForm, of_1f1b_and_gpipe_with_latency) {
  for (const int p : {2, 3, 4, 8, 16, 32}) {
    for (const int k : {1, 2, 3, 8}) {
      const int m = k * p;
      SCOPED_TRACE("p " + std::to_string(p) + ", m " + std::to_string(m));
      const std::int64_t c = kUnit / 8;
      const RunReport committed = run_of("1f1b", {{"ranks", p}}, m, with_latency(0.125));
      EXPECT_EQ(committed.makespan,
                units(3 * (m + p - 1)) + Time{c * (2 * k * (p - 1) + 2 * p - 4)});
      const RunReport gpipe = run_of("gpipe", {{"ranks", p}}, m, with_latency(0.125));
      EXPECT_EQ(gpipe.makespan, units(3 * (m + p - 1)) + Time{2 * c * (p - 1)});
    }
  }
}

// With costs f and b of a chunk, F = v f and B = v b, the bubble is (p - 1)(F + B) / v.
TEST(ClosedForm, of_interleaved_1f1b) {
  for (const int p : {2, 3, 4, 8}) {
    for (const int v : {1, 2, 3, 4}) {
      for (const int k : {1, 2, 4, 8}) {
        const int m = k * p;
        SCOPED_TRACE("p " + std::to_string(p) + ", v " + std::to_string(v) + ", m " +
                     std::to_string(m));
        const RunReport run =
            run_of("interleaved_1f1b", {{"ranks", p}, {"chunks", v}, {"f", 3}, {"b", 5}}, m);
        ASSERT_TRUE(run.status.ok() && !run.stuck) << run.waiting;
        EXPECT_EQ(run.bubble(), units(8 * (p - 1)));
        for (int r = 0; r < p; ++r) {
          EXPECT_EQ(run.peaks[static_cast<std::size_t>(r)],
                    std::min(m * v, 2 * (p - 1 - r) + (v - 1) * p + 1))
              << "rank " << r;
        }
      }
    }
  }
}

// Costs and latency are measured ones, in microseconds; 1F1B's rate, by makespan, is
// published.
TEST(ClosedForm, is_the_published_rate) {
  const struct {
    int m;
    double f, b, c, rate;
  } kRows[] = {{24, 18522, 18086 + 9337, 601, .2431},  {32, 18513, 18086 + 9331, 626, .1985},
               {64, 18546, 18097 + 9321, 762, .1240},  {24, 29718, 29444 + 19927, 527, .2347},
               {32, 29802, 29428 + 19530, 577, .1898}, {64, 29935, 29621 + 19388, 535, .1091}};
  for (const auto& row : kRows) {
    TimingOptions options = with_latency(row.c);
    options.profile = Profile{.unit = *unit_named("us"),
                              .tasks = {{"F", {}, {}, row.f, 0}, {"B", {}, {}, row.b, 0}},
                              .links = {},
                              .messages = {},
                              .inputs = {},
                              .control = {}};
    const RunReport run = run_of("1f1b", {{"ranks", 8}}, row.m, options);
    const auto makespan = static_cast<double>(run.makespan.count());
    const auto work = static_cast<double>(run.work.count());
    EXPECT_EQ(run.work.count(), std::llround(row.m * (row.f + row.b) * 1000));
    EXPECT_NEAR((makespan - work) / makespan, row.rate, 0.00005);
  }
}

// ---------------------------------------------------------------- random draws

TEST(Jitter, gives_the_same_bytes_for_the_same_seed_and_others_for_another) {
  const auto text = [](std::uint64_t seed) {
    const spec::Program program = compiled_schedule("bf");
    trace::Record record;
    TableRun run(program);
    EXPECT_TRUE(
        run.run(20, with_jitter("J3,tails=2:20,lognormal=0.5", seed), &record, true).status.ok());
    const trace::About about(run.storage.facts(), {.microbatches = 20});
    return trace::EventText(about).of(record);
  };
  EXPECT_EQ(text(7), text(7));
  EXPECT_NE(text(7), text(8));
}

// The durations of tasks and messages by name, so that lanes of other programs can be compared.
std::map<std::string, Time> durations(const std::string& what, const TimingOptions& options) {
  spec::ElaborateOptions elaborate;
  const spec::Program program = compiled_schedule(what, elaborate);
  Timing timing;
  EXPECT_TRUE(Timing::make(program, 6, options, timing).ok());
  std::map<std::string, Time> found;
  for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane) {
    for (int m = 0; m < 6; ++m) found[program.task_name(lane, m)] = timing.task({lane, m});
  }
  for (int edge = 0; edge < static_cast<int>(program.edges.size()); ++edge) {
    const spec::Edge& e = at(program.edges, edge);
    if (!program.crosses_ranks(e)) continue;
    for (int m = 0; m < 6; ++m) {
      found[program.task_name(e.producer, m) + " to " + program.lane_name(e.consumer)] =
          timing.latency({edge, m});
    }
  }
  return found;
}

TEST(Jitter, is_common_to_programs_that_are_compared) {
  const TimingOptions options =
      with_jitter("J2,uniform=0.3,lognormal=1,pareto=2.5,input=0.6,tails=30:20,exponential=0.5", 5);
  const auto chain = durations("1f1b", options);
  EXPECT_EQ(chain, durations("bf", options));
  EXPECT_EQ(chain, durations("gpipe", options));
  // Another placement numbers its lanes in another way, but tasks of the same name must agree.
  const auto other = durations(R"(
pipeline other {
  microbatches any;  stages 4;  place s on 3 - s;
  op X { needs F at here; }
  op B backward { cost 2;  needs F at here, B at next; }
  op F forward { cost 1;  needs F at prev; }
  dispatch ready;
})",
                               options);
  int common = 0;
  for (const auto& [name, time] : chain) {
    const auto found = other.find(name);
    ASSERT_NE(found, other.end()) << name;
    EXPECT_EQ(found->second, time) << name;
    ++common;
  }
  EXPECT_GT(common, 60);
}

// The mean of many draws of a jitter is within four deviations of the mean that the jitter states.
TEST(Jitter, has_the_mean_that_it_says) {
  constexpr int kMany = 4000;
  const spec::Program program = compiled_schedule("1f1b");
  const auto mean_of = [&](const std::string& spec, bool message) {
    TimingOptions options = with_jitter(spec, 3);
    options.latency = 0;
    Timing timing;
    EXPECT_TRUE(Timing::make(program, kMany, options, timing).ok());
    double sum = 0;
    for (int m = 0; m < kMany; ++m) {
      const Time t = message ? timing.latency({1, m}) : timing.task({0, m});
      sum += static_cast<double>(t.count()) / kUnit;
    }
    return sum / kMany;
  };
  EXPECT_NEAR(mean_of("J0", false), 1, 1e-12);
  EXPECT_NEAR(mean_of("J1", false), 1.05, 0.012);
  EXPECT_NEAR(mean_of("J3", false), 1.45, 0.05);
  EXPECT_NEAR(mean_of("uniform=0.3", false), 1, 0.012);
  EXPECT_NEAR(mean_of("lognormal=1", false), 1, 0.065);
  EXPECT_NEAR(mean_of("pareto=3", false), 1, 0.06);
  EXPECT_NEAR(mean_of("input=0.3", false), 1, 0.02);
  EXPECT_NEAR(mean_of("slow=0:2.5", false), 2.5, 1e-12);
  EXPECT_NEAR(mean_of("tails=2:20", true), 0.4, 0.18);
  EXPECT_NEAR(mean_of("exponential=0.5", true), 0.5, 0.035);
}

TEST(Jitter, says_what_it_expects) {
  for (const char* bad : {"J4", "J", "uniform", "uniform=2", "pareto=1", "slow=1", "slow=0.5:2",
                          "tails=200:1", "x=1", "fifo=1", "lognormal=-1", ",", "input=nan"}) {
    Jitter jitter;
    EXPECT_THAT(Jitter::parse(bad, jitter).message(), HasSubstr("expected")) << bad;
  }
  const RunReport run = run_of("1f1b", {}, 2, with_jitter("slow=4:2"));
  EXPECT_EQ(run.status.message(), "jitter 'slow=4:…': the ranks are 0 to 3");
}

TEST(Links, that_are_fifo_keep_the_order_of_messages) {
  const spec::Program program = compiled_schedule("bf");
  const auto overtakes = [&](const std::string& spec) {
    trace::Record record;
    EXPECT_TRUE(TableRun(program).run(64, with_jitter(spec, 2), &record).status.ok());
    std::map<int, Time> last;
    int found = 0;
    for (const trace::MessageEvent& e : record.messages) {  // in the order of arrivals
      if (e.sent < last[e.message.edge]) ++found;
      last[e.message.edge] = std::max(last[e.message.edge], e.sent);
    }
    return found;
  };
  EXPECT_GT(overtakes("tails=10:20"), 5);
  EXPECT_EQ(overtakes("tails=10:20,fifo"), 0);
}

// ---------------------------------------------------------------- links, engines, causes

Time idle(const EngineReport& engine, trace::Cause cause) {
  return engine.idle[static_cast<std::size_t>(cause)];
}

struct CauseCase {
  const char* what;
  const char* text;
  int rank;
  core::Engine engine;
  trace::Cause cause;
  std::int64_t idle;  // units of idle time that have this cause
};

const CauseCase kCauses[] = {
    {"a forward's way and back", R"(
pipeline a { microbatches any; stages 2; place s on s;
  op F { needs F at prev; }  op B { needs F at here, B at next; }
  order o on r { F * 1; B * 1; F * (microbatches - 1); B * (microbatches - 1); }
  dispatch in order o; })",
     0, core::Engine::compute, trace::Cause::order, 2},
    {"nothing else to do", R"(
pipeline a { microbatches 1; stages 2; place s on s;
  op F { needs F at prev; }  op B { needs F at here, B at next; }  dispatch ready; })",
     0, core::Engine::compute, trace::Cause::input, 2},
    {"room for one", R"(
pipeline a { microbatches 2; stages 2; place s on s;
  op F { needs F at prev; acquires x; }  op B { needs F at here, B at next; releases x; }
  resource x per stage { capacity 1; }  dispatch ready; })",
     0, core::Engine::compute, trace::Cause::room, 2},
    {"room that is no use, since another has its turn", R"(
pipeline a { microbatches 2; stages 2; place s on s;
  op F { needs F at prev; acquires x; }  op B { needs F at here, B at next; releases x; }
  resource x per stage { capacity 1; }
  order o on r { (F B) * microbatches; }  dispatch in order o; })",
     0, core::Engine::compute, trace::Cause::input, 4},
    {"room that its turn lacks", R"(
pipeline a { microbatches 2; stages 1; place s on s;
  op F { acquires x; }  op L reload on copy_in { cost 2; needs F at here; }
  op B on copy_out { cost 1; needs L at here; releases x; }
  resource x per stage { capacity 1; }
  order o on r { F * microbatches; L * microbatches; B * microbatches; }  dispatch in order o; })",
     0, core::Engine::compute, trace::Cause::room, 3},
    {"the copy runs", R"(
pipeline a { microbatches 1; stages 1; place s on s;
  op F { }  op L reload on copy_in { cost 3; needs F at here; }  op B { needs L at here; }
  dispatch ready; })",
     0, core::Engine::compute, trace::Cause::engine, 3},
};

TEST(Causes, are_true) {
  for (const CauseCase& c : kCauses) {
    SCOPED_TRACE(c.what);
    const auto made = spec::compile({"a.ripe", c.text});
    if (!made.ok()) {
      ADD_FAILURE() << spec::render({"a.ripe", c.text}, made.errors());
      continue;
    }
    const spec::Program program = made.value();
    trace::Record record;
    const RunReport run =
        TableRun(program).run(program.microbatches.max.value_or(2), {}, &record, true);
    ASSERT_TRUE(run.status.ok() && !run.stuck) << run.status.message() << run.waiting;
    const EngineReport& engine =
        run.ranks[static_cast<std::size_t>(c.rank)][static_cast<std::size_t>(c.engine)];
    EXPECT_EQ(idle(engine, c.cause), units(c.idle));
    Time sum{0};
    for (const Time t : engine.idle) sum += t;
    EXPECT_EQ(sum, engine.last - engine.first - engine.busy) << "every interval has a cause";
  }
}

TEST(Causes, of_a_slow_consumer_is_a_slot) {
  const spec::Program program = compiled_schedule(R"(
pipeline a { microbatches 3; stages 3; place s on s;
  op F { cost s == 1 ? 4 : 1; needs F at prev via slots 1; }  dispatch ready; })");
  TimingOptions options;
  options.control = 0.5;
  const RunReport run = TableRun(program).run(3, options, nullptr, true);
  ASSERT_TRUE(run.status.ok());
  // 0F1 ends at 2. 1F0 starts at 1 and frees the slot; the sender knows this at 1.5, so 0F1 leaves
  // when it ends. 0F2 ends at 3; 1F1 starts at 5, and the grant for 0F2 arrives at 5.5.
  EXPECT_EQ(run.controls, 6);
  const EngineReport& middle = run.ranks[1][0];
  EXPECT_EQ(middle.busy, units(12));
  EXPECT_EQ(middle.last, units(13));
}

// A grant takes 4. 1F0 starts at 1, so 0F1, which ended at 2, leaves at 5. Then 1F1 starts, and 0F2
// leaves at 9. In between, rank 1 has no work.
TEST(Causes, of_a_message_that_waits_for_a_slot_is_the_slot) {
  const spec::Program program = compiled_schedule(R"(
pipeline a { microbatches 3; stages 2; place s on s;
  op F { cost 1; needs F at prev via slots 1; }  dispatch ready; })");
  TimingOptions options;
  options.control = 4;
  options.latency = 0.5;
  trace::Record record;
  const RunReport run = TableRun(program).run(3, options, &record, true);
  ASSERT_TRUE(run.status.ok());
  const EngineReport& second = run.ranks[1][0];
  EXPECT_EQ(second.last - second.first - second.busy, units(7));
  EXPECT_EQ(idle(second, trace::Cause::slot), units(6));
  EXPECT_EQ(idle(second, trace::Cause::input), units(1));
  const auto slots = std::count_if(record.idle.begin(), record.idle.end(), [](const auto& e) {
    return e.cause == trace::Cause::slot && e.rank == 1;
  });
  EXPECT_EQ(slots, 2);
}

TEST(Run, that_sticks_says_who_waits_for_what) {
  const spec::Program program = compiled_schedule(R"(
pipeline stuck { microbatches 2; stages 2; place s on s;
  op F { needs F at prev; acquires a; }  op B { needs F at here of all, B at next; releases a; }
  resource a per stage { capacity 1; }  dispatch ready; })");
  const RunReport run = TableRun(program).run(2);
  EXPECT_TRUE(run.status.ok());
  EXPECT_TRUE(run.stuck);
  EXPECT_THAT(run.waiting, HasSubstr("rank 0: 0F1 waits for room in a of stage 0: 1 of 1 held, "
                                     "until 0B0 ends"));
  EXPECT_THAT(run.waiting, HasSubstr("rank 0: 0B0 waits for 0F1"));
}

TEST(Run, refuses_a_count_outside_the_range) {
  const spec::Program program = compiled_schedule(
      "\npipeline a { microbatches 2 .. 3; stages 1; place s on s; op F { } dispatch ready; }");
  EXPECT_THAT(TableRun(program).run(4).status.message(), HasSubstr("4 microbatches are outside"));
}

TEST(Bandwidth, keeps_a_way_busy_and_adds_to_latency) {
  const spec::Program program = compiled_schedule(R"(
pipeline a { microbatches 3; stages 2; place s on s; op F { needs F at prev; } dispatch ready; })");
  TimingOptions options = with_latency(0.25);
  options.bytes_per_second = 1000;  // a unit is a millisecond, so a byte takes a unit
  options.message_bytes = 2;
  trace::Record record;
  ASSERT_TRUE(TableRun(program).run(3, options, &record).status.ok());
  ASSERT_EQ(record.messages.size(), 3U);
  // The messages are sent at 1, 2 and 3, and each occupies the link for 2.
  EXPECT_EQ(record.messages[0].arrived, Time{3'250'000});
  EXPECT_EQ(record.messages[1].arrived, Time{5'250'000});
  EXPECT_EQ(record.messages[2].arrived, Time{7'250'000});
}

TEST(Profile, is_read_and_its_most_exact_entry_counts) {
  Profile profile;
  ASSERT_EQ(Profile::parse(R"({"schema":"ripeline.profile/1","unit":"us",
    "tasks":[{"op":"F","stage":1,"mean":7},{"op":"F","mean":5},{"op":"F","stage":1,"microbatch":2,"mean":9}],
    "links":[{"from":0,"to":1,"latency":3},{"latency":2}], "inputs":[1,2,1], "control":0.5})",
                           profile)
                .message(),
            "");
  Profile again;
  ASSERT_EQ(Profile::parse(profile.to_json(), again).message(), "");
  EXPECT_EQ(again.to_json(), profile.to_json());
  const spec::Program program = compiled_schedule("1f1b");
  TimingOptions options;
  options.profile = profile;
  Timing timing;
  ASSERT_EQ(Timing::make(program, 3, options, timing).message(), "");
  EXPECT_EQ(timing.task({0, 0}), Time{5'000});   // 0F0
  EXPECT_EQ(timing.task({2, 0}), Time{7'000});   // 1F0
  EXPECT_EQ(timing.task({2, 1}), Time{14'000});  // the input of this microbatch has the factor 2
  EXPECT_EQ(timing.task({2, 2}), Time{9'000});
  EXPECT_EQ(timing.task({1, 0}), Time{2'000});  // 0B0, from the program
  for (int edge = 0; edge < static_cast<int>(program.edges.size()); ++edge) {
    const spec::Edge& e = at(program.edges, edge);
    if (!program.crosses_ranks(e)) continue;
    const bool measured = at(program.lanes, e.producer).rank == 0;
    EXPECT_EQ(timing.latency({edge, 0}), Time{measured ? 3'000 : 2'000});
    EXPECT_EQ(timing.control(edge), Time{500});
  }
  EXPECT_THAT(Timing::make(program, 4, options, timing).message(),
              HasSubstr("inputs of 3 microbatches, not 4"));
}

// The clock counts nanoseconds in 64 bits, so very long times are refused.
TEST(Profile, of_what_takes_too_long_is_refused) {
  const spec::Program program = compiled_schedule("1f1b");
  const auto refusal = [&](const Profile& profile) {
    TimingOptions options;
    options.profile = profile;
    Timing timing;
    return Timing::make(program, 3, options, timing).message();
  };
  Profile inputs;
  inputs.unit = {"s", 1'000'000'000};
  inputs.tasks = {{"F", {}, {}, 1e3, 0}};
  inputs.inputs = {1, 1, 1e9};
  EXPECT_THAT(refusal(inputs), HasSubstr("0F takes 1e+12 s"));
  Profile slow;
  slow.unit = {"s", 1'000'000'000};
  slow.links = {{{}, {}, 0, 0, 1e-10}};
  slow.messages = {{"F", 1e15}};
  EXPECT_THAT(refusal(slow), HasSubstr("a message takes 1e+09 s"));
}

TEST(Profile, what_does_not_fit_is_said_with_its_place) {
  const auto in = [](const std::string& rest) {
    return R"({"schema":"ripeline.profile/1","unit":"us",)" + rest + "}";
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "it is not JSON, from byte 1 on"},
      {"[]", "it is not an object"},
      {"{}", "there is no 'schema'; `ripeline profile` makes a profile of a trace"},
      {R"({"schema":"ripeline.profile/1","unit":"h"})", "unit is none of ns, us, ms and s"},
      {R"({"schema":"ripeline.profile/2","unit":"us"})", "its schema is not ripeline.profile/1"},
      {in(R"("tasks":3)"), "tasks is not a list"},
      {in(R"("tasks":[3])"), "tasks[0]: it is not an object"},
      {in(R"("tasks":[{}])"), "tasks[0]: there is no 'op'"},
      {in(R"("links":[3])"), "links[0]: it is not an object"},
      {in(R"("tasks":[{"op":"F","mean":1e999}])"), "a number in it is too large"},
      {in(R"("tasks":[{"op":"F","stage":1.5,"mean":1}])"),
       "tasks[0]: stage is not a whole number from 0"},
      {in(R"("tasks":[{"op":"F","stage":1.0,"mean":1}])"), ""},
      {in(R"("tasks":[{"op":"F","mean":1},{"op":"F"}])"), "tasks[1]: there is no 'mean'"},
      {in(R"("tasks":[{"op":2,"mean":1}])"), "tasks[0]: op is not a text"},
      {in(R"("tasks":[{"op":"F","mean":-1}])"), "tasks[0]: mean is not a number from 0 to 1e15"},
      {in(R"("tasks":[{"op":"F","mean":"1"}])"), "tasks[0]: mean is not a number from 0 to 1e15"},
      {in(R"("tasks":[{"op":"F","stage":-1,"mean":1}])"),
       "tasks[0]: stage is not a whole number from 0"},
      {in(R"("links":[{"from":4294967296}])"), "links[0]: from is not a whole number from 0"},
      {in(R"("inputs":[1,null])"), "inputs[1]: it is not a number from 0 to 1e15"},
      {in(R"("control":[])"), "control is not a number from 0 to 1e15"}};
  for (const auto& [text, message] : cases) {
    Profile profile;
    EXPECT_EQ(Profile::parse(text, profile).message(), message) << text;
  }
}

}  // namespace
}  // namespace ripeline::simulate::simulator_test
