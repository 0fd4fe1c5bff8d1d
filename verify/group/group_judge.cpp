#include "verify/group/group_judge.h"

#include <fmt/format.h>

#include "verify/group/protocol.h"
#include "verify/group/protocol_every_size.h"
#include "verify/judge/each_count.h"
#include "verify/states/hunt.h"

namespace ripeline::verify {

using spec::Agree;
using spec::Engine;
using spec::GroupMachine;
using spec::Program;
using Chooser = spec::Machine::Chooser;

namespace {

// The number of counts that are searched for a run and, in a range without end, visited.
constexpr int kCounts = 4;
// The states of one count may use 1 / kShares of the budget.
constexpr std::uint64_t kShares = 8;

}  // namespace

GroupJudge::GroupJudge(const Program& program, const VerifyOptions& options,
                       std::unique_ptr<Judge> of_one)
    : program_(program),
      options_(options),
      of_one_(std::move(of_one)),
      budget_{options.search_states},
      conditions_(program) {}

CounterQueries& GroupJudge::queries() {
  if (!queries_) {
    queries_.emplace(program_, options_.solver_steps);
    inductive_ = !beyond_counters(program_) && queries_->invariant_is_inductive();
  }
  return *queries_;
}

// --- collectives ---

Finding GroupJudge::collectives() {
  const bool any = conditions_.has_collectives();
  collectives_ = {.span = program_.tensor_parallel.span};
  if (!any || program_.dispatch.in_order) {
    // The program has no collectives; or each member issues them as its rank's order lists them.
    collectives_ = {.outcome = Outcome::proved, .method = Method::structure};
  } else if (conditions_.alone()) {
    collectives_ = without_agreement();
  } else if (const auto lanes = conditions_.turns_that_differ()) {
    collectives_.reason = *lanes;
  } else if (agrees_for_every_size(right_protocol(program_.tensor_parallel.agree),
                                   options_.solver_steps) == Answer::unsat) {
    collectives_ = {.outcome = Outcome::proved, .method = Method::induction};
  } else {
    collectives_.reason = "The solver gave up within its steps.";
  }
  return collectives_;
}

// True if, without agreement, no timing lets any engine choose. Then each engine's tasks start in
// only one order, and all members are alike.
bool GroupJudge::never_a_choice() {
  CounterQueries& asked = queries();
  if (!inductive_ || conditions_.doubt_of_pools()) return false;
  return asked.solver().check("collectives: a choice", {some_choice(program_, asked)}) ==
         Answer::unsat;
}

Finding GroupJudge::without_agreement() {
  if (never_a_choice()) return {.outcome = Outcome::proved, .method = Method::counters};
  if (auto found = searched(true)) return *found;
  return {.reason = "Members choose for themselves, and no run was found in which they differ.",
          .span = program_.tensor_parallel.span};
}

// --- from one member to all ---

// True if no state has more waiting messages than the inbox has slots.
bool GroupJudge::always_fits(int inbox) {
  if (program_.dispatch.in_order) return false;
  CounterQueries& asked = queries();
  return inductive_ &&
         asked.solver().check("deadlock: " + program_.inbox_name(inbox) + " is too small",
                              {more_than_slots(program_, asked, inbox)}) == Answer::unsat;
}

std::optional<Doubt> GroupJudge::doubt_of_links() {
  for (const int edge : conditions_.edges_that_must_fit()) {
    const spec::Edge& e = at(program_.edges, edge);
    if (always_fits(e.inbox)) continue;
    return Doubt{fmt::format("All messages that wait may be too many for {}, so members may hold "
                             "different ones.",
                             program_.inbox_name(e.inbox)),
                 e.span, true, true};
  }
  return std::nullopt;
}

std::optional<Counterexample> GroupJudge::lifted(const Counterexample& of_one,
                                                 Chooser chooser) const {
  const GroupMachine group(program_, of_one.microbatches, program_.tensor_parallel.members);
  Counterexample run = of_one;
  run.members = group.members();
  run.events = in_step(group, of_one.events);
  for (BlockedTask& wait : run.waits) wait.member = kAllMembers;
  const auto end = replayed(group, chooser, run.events);
  if (!end || (!run.waits.empty() && !group.stuck(*end))) return std::nullopt;
  return run;
}

Finding GroupJudge::of_each(Finding of_one) const {
  const bool had_run = of_one.counterexample.has_value();
  if (had_run) of_one.counterexample = lifted(*of_one.counterexample, Chooser::dispatch);
  if (of_one.other_choices) of_one.other_choices = lifted(*of_one.other_choices, Chooser::any);
  if (had_run && !of_one.counterexample) {
    of_one.outcome = Outcome::unknown;
    of_one.reason =
        "One member alone has such a run, and the group was not found to. " + of_one.reason;
  }
  return of_one;
}

MemoryFinding GroupJudge::memory() {
  MemoryFinding memory = of_one_->memory();
  memory.finding = of_each(std::move(memory.finding));
  return memory;
}

Finding GroupJudge::deadlock_given(const Finding& of_one) {
  // Members without collectives are independent programs of one member.
  if (of_one.outcome == Outcome::refuted || !conditions_.has_collectives()) return of_each(of_one);
  if (collectives_.outcome == Outcome::refuted) {
    if (auto found = waiting_for_each_other()) return *found;
  }
  std::optional<Doubt> why = Doubt{collectives_.reason, collectives_.span};
  if (collectives_.outcome == Outcome::proved) why = conditions_.doubt_of_pools();
  if (!why) why = doubt_of_links();
  if (!why) return of_each(of_one);
  Doubt& doubt = *why;
  Finding open{.method = of_one.method, .span = doubt.span};
  if (!conditions_.alone() && doubt.is_open) {
    if (doubt.of_links) {
      if (auto found = searched(false)) return *found;
    }
    Finding found = visited(doubt);
    if (found.outcome != Outcome::unknown) return found;
    open.other_choices = std::move(found.other_choices);
    doubt.text += found.reason;
  }
  open.reason = of_one.outcome == Outcome::proved
                    ? "One member alone does not deadlock. " + doubt.text
                    : of_one.reason + " " + doubt.text;
  return open;
}

// Shows that members that have started different collectives on one engine never end them.
std::optional<Finding> GroupJudge::waiting_for_each_other() const {
  Finding found = collectives_;
  Counterexample& run = *found.counterexample;
  const GroupMachine group(program_, run.microbatches, run.members);
  auto state = replayed(group, Chooser::dispatch, run.events);
  if (!state) return std::nullopt;
  run_out(group, *state, run.events);
  if (!group.stuck(*state)) return std::nullopt;
  run.waits = waits_of_group(group, run.events);
  found.reason += " Each waits for the other.";
  return found;
}

std::optional<Finding> GroupJudge::searched(bool parting) {
  const auto ask = [&](int m, bool fewest) -> CountAnswer {
    const GroupMachine group(program_, m, program_.tensor_parallel.members);
    BudgetShare share(budget_, budget_.left / 2);
    GroupSearch search(group, share.budget());
    const auto run = parting ? search.parting() : search.sticking();
    if (!run) return {CountAnswer::What::open};
    Finding found{.outcome = Outcome::refuted,
                  .method = Method::search,
                  .reason = run->reason,
                  .span = program_.tensor_parallel.span};
    Counterexample example{m, fewest, run->events, {}, group.members()};
    if (!parting) example.waits = waits_of_group(group, run->events);
    found.counterexample = std::move(example);
    return {CountAnswer::What::settled, std::move(found)};
  };
  const CountPlan plan{.range = program_.microbatches, .most = kCounts, .budget = &budget_};
  return each_count(plan, ask).settled;
}

// The run as a refutation, if the program's own dispatch makes the run.
std::optional<Finding> GroupJudge::refuted_by(const GroupMachine& group,
                                              const std::vector<spec::Event>& run) const {
  const auto end = replayed(group, Chooser::dispatch, run);
  if (!end || !group.stuck(*end)) return std::nullopt;
  Finding found{.outcome = Outcome::refuted,
                .method = Method::members,
                .reason = why_stuck(group, *end),
                .span = program_.tensor_parallel.span};
  const int m = group.member().microbatches();
  found.counterexample = {m, m == program_.microbatches.min, run, waits_of_group(group, run),
                          group.members()};
  return found;
}

// Visits every state of one count after another; proved if these are all counts in range.
Finding GroupJudge::visited(const Doubt& doubt) {
  const std::uint64_t share = budget_.left / kShares;
  const auto ask = [&](int m, bool /*fewest*/) -> CountAnswer {
    const GroupMachine group(program_, m, program_.tensor_parallel.members);
    BudgetShare own(budget_, share);
    const EverySize::Result result = EverySize(group, own.budget()).visit();
    if (!result.run.empty()) {
      return {CountAnswer::What::settled, shown_by(group, result, doubt)};
    }
    if (!result.complete) return {CountAnswer::What::settled, visited_before(m, doubt)};
    return {CountAnswer::What::safe};
  };
  const CountPlan plan{
      .range = program_.microbatches, .most = kCounts, .to_the_end = true, .budget = &budget_};
  const CountAnswers answers = each_count(plan, ask);
  if (answers.settled) return *answers.settled;
  if (answers.open) return visited_before(*answers.open, doubt);
  return {.outcome = Outcome::proved, .method = Method::members};
}

// The finding for a run in which members stick.
Finding GroupJudge::shown_by(const GroupMachine& group, const EverySize::Result& result,
                             const Doubt& doubt) const {
  if (auto refuted = refuted_by(group, result.run)) return *refuted;
  const int m = group.member().microbatches();
  Finding found{.method = Method::members,
                .reason = fmt::format(
                    " {} members deadlock with {} microbatch{} if they choose as they do in a run "
                    "that the dispatch was not found to make.",
                    result.fewest, m, m == 1 ? "" : "es"),
                .span = doubt.span};
  const auto end = replayed(group, Chooser::any, result.run);
  if (!end || !group.stuck(*end)) return found;
  found.other_choices = {m, false, result.run, waits_of_group(group, result.run), group.members()};
  return found;
}

// The finding if all states of smaller counts were visited, but not all states of this count.
Finding GroupJudge::visited_before(int microbatches, const Doubt& doubt) const {
  const auto with = [](int m) { return fmt::format("{} microbatch{}", m, m == 1 ? "" : "es"); };
  Finding found{.method = Method::members, .span = doubt.span};
  const int least = program_.microbatches.min;
  const int last = microbatches - 1;
  if (last < least) {
    found.reason = fmt::format(" Its states with {} are too many to visit.", with(microbatches));
    return found;
  }
  found.reason =
      fmt::format(" Every state with {} was visited: no group of {} members deadlocks there.",
                  last == least ? with(last) : fmt::format("{} to {} microbatches", least, last),
                  program_.tensor_parallel.members);
  return found;
}

}  // namespace ripeline::verify
