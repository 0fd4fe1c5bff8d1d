// Laws of the semantics: verdicts agree with runs of the machine, and the interpreted arbiter
// agrees with the machine.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "lower/facts.h"
#include "proptests/seeds.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/machine.h"
#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::proptests {
namespace {

using spec::Event;
using spec::Machine;
using spec::Program;

Program random_program(std::uint64_t seed) {
  const std::string text = testing_support::random_program_text(seed, {.keeping = true});
  spec::Result<Program> program = spec::compile({"random.ripe", text});
  RC_LOG(text);
  RC_ASSERT(program.ok());
  return std::move(program).value();
}

int some_count(const Program& program) {
  return any_of(program.microbatches.min, program.microbatches.max.value_or(5) + 1);
}

// Whether every rank's order can be expanded for this count.
bool orders_expand(const Program& program, int microbatches) {
  if (program.dispatch.binding() < 0) return true;
  for (int rank = 0; rank < program.ranks; ++rank) {
    const auto& order = at(program.orders, program.dispatch.binding());
    if (!spec::expand(program, order, rank, microbatches).ok()) return false;
  }
  return true;
}

Event pick(const std::vector<Event>& events) {
  return events[any_of<std::size_t>(0, events.size())];
}

RC_GTEST_PROP(Verify, a_proved_program_never_sticks_whatever_is_chosen, ()) {
  const Program program = random_program(any_seed());
  const verify::Verdict verdict = verify::verify(program);
  RC_PRE(verdict.outcome == verify::Outcome::proved);
  const Machine machine(program, some_count(program));
  Machine::State state = machine.initial();
  while (!machine.done(state)) {
    const auto events = machine.enabled(state, Machine::Chooser::any);
    RC_ASSERT(!events.empty());
    machine.step(state, pick(events));
    for (std::size_t pool = 0; pool < state.held.size(); ++pool) {
      const auto& bound = verdict.proved->peaks()[pool];
      RC_ASSERT(state.held[pool] >= 0);
      RC_ASSERT(!bound || state.held[pool] <= *bound);
    }
  }
}

RC_GTEST_PROP(Verify, a_refuted_deadlock_replays_event_by_event_and_sticks, ()) {
  const Program program = random_program(any_seed());
  const verify::Verdict verdict = verify::verify(program);
  const verify::Obligation& deadlock = verdict.obligations.front();
  RC_PRE(deadlock.outcome == verify::Outcome::refuted);
  RC_ASSERT(deadlock.counterexample.has_value());
  const verify::Counterexample& run = *deadlock.counterexample;
  RC_ASSERT(program.microbatches.contains(run.microbatches));
  const Machine machine(program, run.microbatches);
  Machine::State state = machine.initial();
  for (const Event& event : run.events) {
    RC_ASSERT(machine.is_enabled(state, event, Machine::Chooser::dispatch));
    machine.step(state, event);
  }
  RC_ASSERT(machine.stuck(state));
  RC_ASSERT(!run.waits.empty());
}

// Each rank's arbiter sees only its own events; the machine sees all of them.
RC_GTEST_PROP(Interpreter, offers_and_chooses_what_the_machine_does_in_every_state, ()) {
  const Program program = random_program(any_seed());
  const int microbatches = some_count(program);
  RC_PRE(program.microbatches.contains(microbatches) && orders_expand(program, microbatches));
  const Machine machine(program, microbatches);
  const core::OwnedFacts storage = lower::facts_of(program);
  std::deque<simulate::InterpretedArbiter> arbiters;
  for (int rank = 0; rank < program.ranks; ++rank) {
    RC_ASSERT(
        arbiters.emplace_back(program, storage.facts(), rank).begin_step(0, microbatches).ok());
  }
  const core::Time now{0};
  core::TaskSet ready;
  Machine::State state = machine.initial();
  for (;;) {
    for (int rank = 0; rank < program.ranks; ++rank) {
      const auto& arbiter = arbiters[static_cast<std::size_t>(rank)];
      const auto [lane, microbatch] = machine.choice(state, rank, spec::Engine::compute);
      const core::Choice choice = arbiter.choose(core::Engine::compute, nullptr, now);
      RC_ASSERT((choice.kind == core::Choice::Kind::start) == (lane >= 0));
      RC_ASSERT(lane < 0 || choice.task == (core::Task{lane, microbatch}));
      arbiter.ready(core::Engine::compute, ready);
      for (int l = program.first_lane(rank); l < program.first_lane(rank + 1); ++l) {
        for (int m = 0; m < microbatches; ++m) {
          RC_ASSERT(ready.contains({l, m}) == machine.may_start(state, l, m));
        }
      }
    }
    const auto events = machine.enabled(state, Machine::Chooser::dispatch);
    if (events.empty()) break;
    const Event event = pick(events);
    machine.step(state, event);
    const int rank = at(program.lanes, event.lane).rank;
    auto& arbiter = arbiters[static_cast<std::size_t>(rank)];
    switch (event.what) {
      case Event::Do::start:
        arbiter.started({event.lane, event.microbatch}, now);
        break;
      case Event::Do::end:
        arbiter.on_finished({event.lane, event.microbatch}, now);
        break;
      case Event::Do::arrive:
        arbiter.on_arrived({event.edge, event.microbatch}, now);
        break;
      case Event::Do::agree:
        RC_FAIL("of one member");
    }
  }
}

}  // namespace
}  // namespace ripeline::proptests
