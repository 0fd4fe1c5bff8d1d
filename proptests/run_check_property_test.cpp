// Laws of the check of recorded runs. Every run on the virtual clock is accepted, even if ranks'
// clocks differ or a killed run has left only a part of its record. A run that was changed is
// accepted only if the oracle can produce the same events.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>

#include "proptests/seeds.h"
#include "simulate/jitter.h"
#include "tests/compare/lockstep.h"
#include "tests/simulate/runs.h"
#include "tests/support/random_program.h"
#include "tests/support/run_of.h"
#include "validate/step_check.h"

namespace ripeline::proptests {
namespace {

using core::Time;
using spec::Event;
using validate::RunOutcome;

struct Ran {
  spec::Program program;
  int microbatches = 0;
  trace::Record record;
  bool stuck = false;

  [[nodiscard]] trace::File file() const {
    const core::OwnedFacts facts = lower::facts_of(program);
    return testing_support::file_of(facts.facts(), microbatches, record);
  }
  [[nodiscard]] validate::RunCheck check(bool ended = true) const {
    return validate::check_run(program, file(), ended);
  }
  [[nodiscard]] std::string text(bool ended = true) const {
    return validate::report_text(program, file(), "what ran", check(ended));
  }
  [[nodiscard]] int rank_of(const trace::TaskEvent& e) const {
    return at(program.lanes, e.task.lane).rank;
  }
  [[nodiscard]] int rank_of(const trace::MessageEvent& e) const {
    return at(program.lanes, at(program.edges, e.message.edge).consumer).rank;
  }
};

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

Ran some_run() {
  testing_support::RandomProgramOptions options;
  options.links = options.once = options.before = options.engines = options.shares = true;
  options.pairs = options.keeping = options.hints = true;
  const std::string text = testing_support::random_program_text(any_seed(), options);
  RC_LOG(text);
  auto program = spec::compile({"random.ripe", text});
  RC_ASSERT(program.ok());
  RC_PRE(program.value().unsupported.empty());
  Ran ran{.program = std::move(program).value(), .record = {}};
  const spec::MicrobatchRange range = ran.program.microbatches;
  ran.microbatches = any_of(range.min, range.max.value_or(7) + 1);
  testing_support::TableRun run(ran.program);
  const simulate::RunReport report = run.run(ran.microbatches, some_timing(), &ran.record);
  RC_PRE(report.status.ok());  // an order may not be defined for this count
  ran.stuck = report.stuck;
  RC_PRE(!ran.record.tasks.empty());
  return ran;
}

// The events in the order in which StepCheck applied them; nullopt if some of them were blocked.
std::optional<std::vector<Event>> led_of(const Ran& ran) {
  const auto steps = validate::steps_of(ran.program, ran.record);
  const spec::Machine machine(ran.program, ran.microbatches);
  validate::StepCheck check(machine, steps.begin()->second,
                            std::vector<bool>(static_cast<std::size_t>(ran.program.ranks), false));
  check.lead();
  if (!check.blocked().empty()) return std::nullopt;
  return check.led();
}

// The events of all ranks in the order of the virtual clock.
std::vector<Event> in_order_of_time(const Ran& ran) {
  const auto steps = validate::steps_of(ran.program, ran.record);
  std::vector<validate::RankEvent> all;
  for (const auto& rank : steps.begin()->second.ranks) {
    all.insert(all.end(), rank.begin(), rank.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    const auto takes = [](const Event& e) { return e.what == Event::Do::start; };
    return a.at != b.at ? a.at < b.at : !takes(a.event) && takes(b.event);
  });
  std::vector<Event> events;
  for (const auto& e : all) events.push_back(e.event);
  return events;
}

RC_GTEST_PROP(RunCheck, accepts_what_ran_whatever_the_clocks_of_the_ranks_show, ()) {
  Ran ran = some_run();
  std::vector<Time> ahead;
  for (int rank = 0; rank < ran.program.ranks; ++rank) {
    ahead.push_back(Time{any_of<std::int64_t>(-50'000'000, 50'000'000)});
  }
  for (auto& e : ran.record.tasks) {
    e.start += at(ahead, ran.rank_of(e));
    e.end += at(ahead, ran.rank_of(e));
  }
  for (auto& e : ran.record.messages) e.arrived += at(ahead, ran.rank_of(e));
  const validate::RunCheck check = ran.check();
  RC_LOG(ran.text());
  RC_ASSERT(check.outcome == (ran.stuck ? RunOutcome::unknown : RunOutcome::run));
  const auto led = led_of(ran);
  RC_ASSERT(led.has_value());
  const compare::Replay replayed =
      compare::replay(ran.program, ran.microbatches, oracle::Choices::any, *led);
  if (!replayed.fits) return;
  RC_ASSERT(replayed.objection == "");
  RC_ASSERT(replayed.sticks == ran.stuck);
}

RC_GTEST_PROP(RunCheck, refutes_nothing_of_a_run_that_was_killed, ()) {
  Ran ran = some_run();
  std::int64_t last = 1;
  for (const auto& e : ran.record.tasks) last = std::max(last, e.end.count());
  std::vector<Time> cut;
  for (int rank = 0; rank < ran.program.ranks; ++rank) {
    cut.push_back(Time{any_of<std::int64_t>(0, last + 1)});
  }
  std::erase_if(ran.record.tasks, [&](const auto& e) { return e.end > at(cut, ran.rank_of(e)); });
  std::erase_if(ran.record.messages,
                [&](const auto& e) { return e.arrived > at(cut, ran.rank_of(e)); });
  RC_LOG(ran.text(false));
  RC_ASSERT(ran.check(false).outcome != RunOutcome::refuted);
}

void change(Ran& ran) {
  auto& tasks = ran.record.tasks;
  auto& messages = ran.record.messages;
  trace::TaskEvent& task = tasks[any_of<std::size_t>(0, tasks.size())];
  const Time by{any_of<std::int64_t>(-6, 7) * 500'000};
  const int kind = any_of(0, messages.empty() ? 4 : 7);
  if (kind == 0) task.start += by, task.end += by;
  if (kind == 1) task.end += by;
  if (kind == 2) std::swap(task.task, tasks[any_of<std::size_t>(0, tasks.size())].task);
  if (kind == 3) tasks.push_back(task), tasks.back().start += by, tasks.back().end += by;
  if (kind < 4) return;
  trace::MessageEvent& message = messages[any_of<std::size_t>(0, messages.size())];
  if (kind == 4) message.arrived += by;
  if (kind == 5)
    std::swap(message.message, messages[any_of<std::size_t>(0, messages.size())].message);
  if (kind == 6) messages.erase(messages.begin() + (&message - messages.data()));
}

RC_GTEST_PROP(RunCheck, takes_what_was_changed_for_a_run_only_if_the_oracle_does, ()) {
  Ran ran = some_run();
  for (int changes = any_of(1, 3); changes > 0; --changes) change(ran);
  const auto by_clock =
      compare::replay(ran.program, ran.microbatches, oracle::Choices::any, in_order_of_time(ran));
  RC_PRE(by_clock.fits);
  const auto led = led_of(ran);
  RC_TAG(led ? "is led" : "is not");
  if (by_clock.objection.empty()) RC_ASSERT(led.has_value());
  if (!led) {
    RC_ASSERT(ran.check().outcome != RunOutcome::run);
    return;
  }
  const auto replayed = compare::replay(ran.program, ran.microbatches, oracle::Choices::any, *led);
  RC_ASSERT(replayed.objection == "");
}

}  // namespace
}  // namespace ripeline::proptests
