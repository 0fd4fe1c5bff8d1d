#include "verify/group/judge.h"

#include <set>

#include <fmt/format.h>

#include "verify/group/every_size.h"
#include "verify/group/protocol.h"
#include "verify/refute.h"

namespace ripeline::verify {

using spec::Agree;
using spec::Engine;
using spec::GroupMachine;
using spec::Program;
using Chooser = spec::Machine::Chooser;

namespace {

// How many microbatch counts are searched for a run, and of an open range visited.
constexpr int kCounts = 4;
// Of the budget, what the visits of one count may take.
constexpr std::uint64_t kShares = 8;

}  // namespace

GroupJudge::GroupJudge(const Program& program, const VerifyOptions& options, Fault fault)
    : program_(program),
      options_(options),
      fault_(fault),
      budget_{options.search_states},
      alone_(program.dispatch.in_order || program.tensor_parallel.agree == Agree::none) {}

CounterQueries& GroupJudge::queries() {
  if (!queries_) {
    queries_.emplace(program_, count(program_, fault_), options_.solver_steps, fault_);
    inductive_ = queries_->invariant_is_inductive();
  }
  return *queries_;
}

bool GroupJudge::is_governed(const spec::Lane& lane) const {
  if (alone_) return false;
  return std::any_of(program_.lanes.begin(), program_.lanes.end(), [&](const spec::Lane& other) {
    return other.rank == lane.rank && other.engine == lane.engine && other.collectives > 0;
  });
}

// --- collectives ---

Finding GroupJudge::collectives() {
  const bool any = std::any_of(program_.lanes.begin(), program_.lanes.end(),
                               [](const spec::Lane& lane) { return lane.collectives > 0; });
  collectives_ = {.span = program_.tensor_parallel.span};
  if (!any || program_.dispatch.in_order) {
    // There are none; or each member issues them as its rank's order lists them.
    collectives_ = {.outcome = Outcome::proved, .method = "structure"};
  } else if (alone_) {
    collectives_ = without_agreement();
  } else if (const std::string lanes = turns_that_differ(program_); !lanes.empty()) {
    collectives_.reason = lanes;
  } else if (agrees_for_every_size(right_protocol(program_.tensor_parallel.agree),
                                   options_.solver_steps) == Answer::unsat) {
    collectives_ = {.outcome = Outcome::proved, .method = "induction"};
  } else {
    collectives_.reason = "The solver gave up within its steps.";
  }
  return collectives_;
}

// A hint in turns counts the starts of all engines of its rank, and members may start those of
// different engines in different orders.
std::string GroupJudge::turns_that_differ(const Program& program) const {
  const spec::Hint& hint = program.dispatch.hint;
  const bool reads_own_turn = program.tensor_parallel.agree != Agree::leader;
  if (hint.rule != spec::Hint::Rule::rounds || !reads_own_turn) return {};
  for (const spec::Lane& a : program.lanes) {
    for (const spec::Lane& b : program.lanes) {
      const auto listed = [&](const spec::Lane& lane) {
        return std::find(hint.ops.begin(), hint.ops.end(), lane.op) != hint.ops.end();
      };
      if (a.rank != b.rank || a.engine == b.engine || !listed(a) || !listed(b)) continue;
      return fmt::format(
          "The rounds of hint {} count {} and {}, which run on different engines of a rank, so "
          "members may be at different turns.",
          hint.name, at(program.ops, a.op).name, at(program.ops, b.op).name);
    }
  }
  return {};
}

// Without agreement the members are alike if no timing leaves any engine a choice: then each
// engine's tasks start in one order only.
bool GroupJudge::never_a_choice() {
  CounterQueries& asked = queries();
  if (!inductive_ || !doubt_of_pools().text.empty()) return false;
  Solver& solver = asked.solver();
  std::vector<Term> choices;
  const auto may = [&](int lane) {
    std::vector<Term> guards;
    for (const Linear& g : at(asked.counters().may, lane)) guards.push_back(asked.not_negative(g));
    return solver.all_of(guards);
  };
  for (int a = 0; a < size_of(program_.lanes); ++a) {
    const spec::Lane& lane = at(program_.lanes, a);
    for (int b = a + 1; b < size_of(program_.lanes); ++b) {
      const spec::Lane& other = at(program_.lanes, b);
      if (lane.rank != other.rank || lane.engine != other.engine) continue;
      choices.push_back(solver.all_of({may(a), may(b)}));
    }
    if (lane.sequential || lane.once) continue;
    // Two microbatches of it: two are left, and two have come from each producer.
    std::vector<Term> two = {may(a)};
    Linear left;
    left.add(a, -1).microbatches = 1;
    left.constant = -2;
    two.push_back(asked.not_negative(left));
    for (const int e : lane.edges) {
      if (at(program_.edges, e).of != spec::Of::same) continue;
      Linear ahead;
      ahead.add(at(program_.edges, e).producer, 1).add(a, -1).constant = -2;
      two.push_back(asked.not_negative(ahead));
    }
    choices.push_back(solver.all_of(two));
  }
  return solver.check("collectives: a choice", {solver.any_of(choices)}) == Answer::unsat;
}

Finding GroupJudge::without_agreement() {
  if (never_a_choice()) return {.outcome = Outcome::proved, .method = "counters"};
  if (auto found = searched(true)) return *found;
  return {.reason = "Members choose for themselves, and no run was found in which they differ.",
          .span = program_.tensor_parallel.span};
}

// --- from one member to all ---

// What may start on an engine must only grow while the engine starts nothing, and what members
// start without asking must come to the same in the end.
GroupJudge::Doubt GroupJudge::doubt_of_pools() const {
  for (int pool = 0; pool < size_of(program_.pools); ++pool) {
    if (!at(program_.pools, pool).capacity) continue;
    std::set<Engine> engines;
    std::set<int> lanes;
    bool all_sequential = true;
    bool governed = true;
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const spec::Lane& l = at(program_.lanes, lane);
      for (const spec::Acquire& a : l.acquires) {
        if (a.pool != pool) continue;
        engines.insert(l.engine);
        lanes.insert(lane);
        all_sequential = all_sequential && (l.sequential || l.once);
        governed = governed && is_governed(l);
      }
    }
    const spec::Span span = at(program_.resources, at(program_.pools, pool).resource).span;
    if (engines.size() > 1) {
      return {fmt::format("{} is acquired on several engines, so what may start at a member may "
                          "cease to.",
                          program_.pool_name(pool)),
              span};
    }
    const bool no_choice = alone_ || governed || (lanes.size() == 1 && all_sequential);
    if (!no_choice) {
      return {fmt::format("{} is acquired where each member chooses for itself, so members may "
                          "give it to different tasks.",
                          program_.pool_name(pool)),
              span, false, true};
    }
  }
  return {};
}

// Messages of the edge are sent in the same order at every member and nothing else takes its slots.
bool GroupJudge::comes_in_one_order(int edge) const {
  const spec::Edge& e = at(program_.edges, edge);
  const spec::Lane& producer = at(program_.lanes, e.producer);
  const bool own =
      std::none_of(program_.edges.begin(), program_.edges.end(),
                   [&](const spec::Edge& other) { return other.inbox == e.inbox && &other != &e; });
  // Without agreement, it has been proved that there is one order.
  return e.fifo && own && (alone_ || producer.sequential || producer.once || is_governed(producer));
}

// In no state wait more messages than there are slots.
bool GroupJudge::always_fits(int inbox) {
  if (program_.dispatch.in_order) return false;
  CounterQueries& asked = queries();
  if (!inductive_) return false;
  Linear over;
  for (const spec::Edge& e : program_.edges) {
    if (e.inbox != inbox) continue;
    over.add(e.producer, 1);
    if (e.of != spec::Of::all) over.add(e.consumer, -1);
    if (e.of == spec::Of::before) over.constant += 1;
  }
  over.constant -= at(program_.inboxes, inbox).slots + 1;
  return asked.solver().check("deadlock: " + program_.inbox_name(inbox) + " is too small",
                              {asked.not_negative(over)}) == Answer::unsat;
}

GroupJudge::Doubt GroupJudge::doubt_of_links() {
  std::set<int> fits;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    if (e.inbox < 0 || fits.contains(e.inbox) || comes_in_one_order(edge)) continue;
    if (!always_fits(e.inbox)) {
      return {fmt::format("All messages that wait may be too many for {}, so members may hold "
                          "different ones.",
                          program_.inbox_name(e.inbox)),
              e.span, true, true};
    }
    fits.insert(e.inbox);
  }
  return {};
}

std::optional<Counterexample> GroupJudge::lifted(const Counterexample& of_one,
                                                 Chooser chooser) const {
  const GroupMachine group(program_, of_one.microbatches, program_.tensor_parallel.members);
  Counterexample run = of_one;
  run.members = group.members();
  run.events = in_step(group, of_one.events);
  for (Wait& wait : run.waits) wait.member = kAllMembers;
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

Finding GroupJudge::deadlock(const Finding& of_one) {
  const bool waits = std::any_of(program_.lanes.begin(), program_.lanes.end(),
                                 [](const spec::Lane& lane) { return lane.collectives > 0; });
  // Members that share nothing are as many programs of one member.
  if (of_one.outcome == Outcome::refuted || !waits) return of_each(of_one);
  if (collectives_.outcome == Outcome::refuted) {
    if (auto found = waiting_for_each_other()) return *found;
  }
  Doubt doubt{collectives_.reason, collectives_.span};
  if (collectives_.outcome == Outcome::proved) doubt = doubt_of_pools();
  if (doubt.text.empty()) doubt = doubt_of_links();
  if (doubt.text.empty()) return of_each(of_one);
  Finding open{.method = of_one.method, .span = doubt.span};
  if (!alone_ && doubt.is_open) {
    if (doubt.of_links) {
      if (auto found = searched(false)) return *found;
    }
    Finding found = visited(doubt);
    if (found.outcome != Outcome::unknown) return found;
    open.other_choices = std::move(found.other_choices);
    doubt.text += found.reason;
  }
  open.reason = of_one.outcome == Outcome::proved ? "One member alone does not stick. " + doubt.text
                                                  : of_one.reason + " " + doubt.text;
  return open;
}

// Members that have started different collectives on one engine never end them.
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
  const int least = program_.microbatches.min;
  for (int m = least; m < least + kCounts && program_.microbatches.contains(m); ++m) {
    const GroupMachine group(program_, m, program_.tensor_parallel.members);
    Budget share{budget_.left / 2};
    const std::uint64_t before = share.left;
    GroupSearch search(group, share);
    const auto run = parting ? search.parting() : search.sticking();
    (void)budget_.spend(before - share.left);
    if (!run) continue;
    Finding found{.outcome = Outcome::refuted,
                  .method = "search",
                  .reason = run->reason,
                  .span = program_.tensor_parallel.span};
    Counterexample example{m, m == least, run->events, {}, group.members()};
    if (!parting) example.waits = waits_of_group(group, run->events);
    found.counterexample = std::move(example);
    return found;
  }
  return std::nullopt;
}

// The run as a finding, if the program's own dispatch makes it.
std::optional<Finding> GroupJudge::refuted_by(const GroupMachine& group,
                                              const std::vector<spec::Event>& run) const {
  const auto end = replayed(group, Chooser::dispatch, run);
  if (!end || !group.stuck(*end)) return std::nullopt;
  Finding found{.outcome = Outcome::refuted,
                .method = "members",
                .reason = why_stuck(group, *end),
                .span = program_.tensor_parallel.span};
  const int m = group.member().microbatches();
  found.counterexample = {m, m == program_.microbatches.min, run, waits_of_group(group, run),
                          group.members()};
  return found;
}

// Every state, of one microbatch count after another: proved if that is all counts in range.
Finding GroupJudge::visited(const Doubt& doubt) {
  const spec::MicrobatchRange& range = program_.microbatches;
  Finding found{.method = "members", .span = doubt.span};
  const std::uint64_t share = budget_.left / kShares;
  int m = range.min;
  for (; range.max ? m <= *range.max : m < range.min + kCounts; ++m) {
    const GroupMachine group(program_, m, program_.tensor_parallel.members);
    Budget own{std::min(share, budget_.left)};
    const std::uint64_t before = own.left;
    const EverySize::Result result = EverySize(group, own).visit();
    (void)budget_.spend(before - own.left);
    if (!result.run.empty()) {
      if (auto refuted = refuted_by(group, result.run)) return *refuted;
      found.reason = fmt::format(
          " {} members stick with {} microbatch{} if they choose as they do "
          "in a run that the dispatch was not found to make.",
          result.fewest, m, m == 1 ? "" : "es");
      const auto end = replayed(group, Chooser::any, result.run);
      if (!end || !group.stuck(*end)) return found;
      found.other_choices = {m, false, result.run, waits_of_group(group, result.run),
                             group.members()};
      return found;
    }
    if (!result.complete) break;
  }
  if (range.max && m > *range.max) return {.outcome = Outcome::proved, .method = "members"};
  if (m == range.min) {
    found.reason = fmt::format(" Its states with {} microbatch{} are too many to visit.", m,
                               m == 1 ? "" : "es");
    return found;
  }
  const int last = m - 1;
  found.reason =
      fmt::format(" Every state with {} was visited: no group of {} members sticks there.",
                  last == range.min ? fmt::format("{} microbatch{}", last, last == 1 ? "" : "es")
                                    : fmt::format("{} to {} microbatches", range.min, last),
                  program_.tensor_parallel.members);
  return found;
}

}  // namespace ripeline::verify
