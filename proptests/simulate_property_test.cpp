// Laws of runs on the virtual clock.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "lower/facts.h"
#include "proptests/seeds.h"
#include "simulate/interpreter.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "tests/support/random_program.h"
#include "trace/read.h"
#include "trace/write.h"
#include "verify/verify.h"

namespace ripeline::proptests::simulate_property_test {
namespace {

using core::Time;

spec::Program random_program(std::uint64_t seed, int most_ranks = 3) {
  testing_support::RandomProgramOptions options;
  options.max_ranks = most_ranks;
  options.links = options.once = options.before = options.engines = options.shares = true;
  options.pairs = true;
  options.keeping = options.hints = true;
  const std::string text = testing_support::random_program_text(seed, options);
  RC_LOG(text);
  auto program = spec::compile({"random.ripe", text});
  RC_ASSERT(program.ok());
  RC_PRE(program.value().unsupported.empty());
  return std::move(program).value();
}

simulate::TimingOptions some_timing() {
  simulate::TimingOptions options;
  const char* jitter = *rc::gen::element("", "J3", "uniform=0.5", "lognormal=1,tails=20:9",
                                         "pareto=2,exponential=3,fifo", "input=0.6,slow=0:3");
  RC_ASSERT(simulate::Jitter::parse(jitter, options.jitter).ok());
  options.seed = any_seed();
  options.latency = *rc::gen::element(0.0, 0.05, 1.0, 7.5);
  options.control = *rc::gen::element(0.0, 0.3, 4.0);
  return options;
}

struct Ran {
  simulate::RunReport report;
  trace::Record record;
};

Ran run(const spec::Program& program, const core::ProgramFacts& facts, int microbatches,
        const simulate::TimingOptions& options) {
  simulate::Timing timing;
  RC_ASSERT(simulate::Timing::make(program, microbatches, options, timing).ok());
  simulate::Simulator simulator(facts, [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(program, facts, rank);
  });
  Ran ran;
  ran.report = simulator.run(microbatches, timing, {.record = &ran.record, .causes = true});
  return ran;
}

int some_count(const spec::Program& program) {
  return any_of(program.microbatches.min, program.microbatches.max.value_or(7) + 1);
}

RC_GTEST_PROP(Simulate, a_proved_program_ends_under_every_timing_within_its_proved_peaks, ()) {
  const spec::Program program = random_program(any_seed(), 2);  // proofs take most of the time
  const verify::Verdict verdict = verify::verify(program, {.find_runs = false});
  RC_PRE(verdict.outcome == verify::Outcome::proved);
  const core::OwnedFacts storage = lower::facts_of(*verdict.proved);
  const int microbatches = some_count(program);
  const Ran ran = run(program, storage.facts(), microbatches, some_timing());
  RC_ASSERT(ran.report.status.message() == "");
  RC_ASSERT(!ran.report.stuck);
  std::int64_t tasks = 0;
  for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane) {
    tasks += program.tasks_of(lane, microbatches);
  }
  RC_ASSERT(ran.report.tasks == tasks);
  const auto& peaks = verdict.proved->peaks();
  for (std::size_t pool = 0; pool < peaks.size(); ++pool) {
    if (peaks[pool]) RC_ASSERT(ran.report.peaks[pool] <= *peaks[pool]);
  }
}

// For every program, engines run one task at a time or a pair, needs are met before starts, every
// idle interval has a cause, and reading the run's file returns the same run.
RC_GTEST_PROP(Simulate, what_a_run_records_is_a_run, ()) {
  const spec::Program program = random_program(any_seed());
  const core::OwnedFacts storage = lower::facts_of(program);
  const int microbatches = some_count(program);
  const Ran ran = run(program, storage.facts(), microbatches, some_timing());
  RC_PRE(ran.report.status.ok());  // an order may not be defined for this count
  std::map<std::pair<int, int>, std::vector<trace::TaskEvent>> running;
  std::map<std::pair<int, int>, Time> ended;
  for (const trace::TaskEvent& e : ran.record.tasks) {  // by start
    const spec::Lane& lane = at(program.lanes, e.task.lane);
    auto& beside = running[{lane.rank, static_cast<int>(lane.engine)}];
    std::erase_if(beside, [&](const trace::TaskEvent& other) { return other.end <= e.start; });
    RC_ASSERT(beside.empty() ||
              (beside.size() == 1 && program.pair_of(e.task.lane, beside[0].task.lane)));
    beside.push_back(e);
    RC_ASSERT(ended.emplace(std::pair{e.task.lane, e.task.microbatch}, e.end).second);
    for (const int id : lane.edges) {
      const spec::Edge& edge = at(program.edges, id);
      const auto [first, last] = program.needed(edge, e.task.microbatch, microbatches);
      for (int m = first; m < last; ++m) {
        const auto producer = ended.find({edge.producer, m});
        RC_ASSERT(producer != ended.end() && producer->second <= e.start);
      }
    }
  }
  for (const auto& rank : ran.report.ranks) {
    for (const simulate::EngineReport& engine : rank) {
      Time idle{0};
      for (const Time part : engine.idle) idle += part;
      RC_ASSERT(engine.tasks == 0 || ran.report.stuck ||
                idle == engine.last - engine.first - engine.busy);
    }
  }
  const trace::About about(storage.facts(), {.microbatches = microbatches});
  const std::string text = "{\"otherData\":" + about.to_json() + ",\"traceEvents\":[" +
                           trace::EventText(about).of(ran.record) + "]}";
  const auto read = trace::read_text(text);
  RC_ASSERT(read.message() == "");
  RC_ASSERT(read.value().record == ran.record);
}

RC_GTEST_PROP(Simulate, the_same_seed_gives_the_same_run, ()) {
  const spec::Program program = random_program(any_seed());
  const core::OwnedFacts storage = lower::facts_of(program);
  const simulate::TimingOptions options = some_timing();
  const int microbatches = some_count(program);
  RC_ASSERT(run(program, storage.facts(), microbatches, options).record ==
            run(program, storage.facts(), microbatches, options).record);
}

}  // namespace
}  // namespace ripeline::proptests::simulate_property_test
