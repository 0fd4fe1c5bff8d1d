#include "verify/group/conditions.h"

#include <set>

#include <fmt/format.h>

namespace ripeline::verify {

using spec::Agree;
using spec::Engine;
using spec::Program;

GroupConditions::GroupConditions(const Program& program)
    : program_(program),
      alone_(program.dispatch.in_order || program.tensor_parallel.agree == Agree::none) {}

bool GroupConditions::has_collectives() const {
  return std::any_of(program_.lanes.begin(), program_.lanes.end(),
                     [](const spec::Lane& lane) { return lane.collectives > 0; });
}

bool GroupConditions::is_governed(const spec::Lane& lane) const {
  if (alone_) return false;
  return std::any_of(program_.lanes.begin(), program_.lanes.end(), [&](const spec::Lane& other) {
    return other.rank == lane.rank && other.engine == lane.engine && other.collectives > 0;
  });
}

// The amount that a pool holds when members choose on an engine follows from the agreements on this
// engine, if every task that uses the pool runs on it, one after the other. Otherwise the amount
// depends on timing.
std::optional<std::string> GroupConditions::values_that_differ() const {
  const spec::Hint& hint = program_.dispatch.hint;
  for (const spec::HintPlace& place : hint.places) {
    const std::vector<std::string> names =
        place.priority ? spec::names_in(*place.priority) : std::vector<std::string>();
    for (const spec::Lane& a : program_.lanes) {
      if (!place.lists(a)) continue;
      for (const spec::Lane& b : program_.lanes) {
        if (a.rank != b.rank || (a.engine == b.engine && program_.pairs.empty())) continue;
        for (const spec::Use& use : spec::uses_of(b)) {
          const spec::Pool& pool = at(program_.pools, use.pool);
          const std::string& resource = at(program_.resources, pool.resource).name;
          if (std::find(names.begin(), names.end(), resource) == names.end()) continue;
          return fmt::format(
              "The priority of {} in hint {} reads {}, which {} {}, so members may see "
              "different values.",
              at(program_.ops, a.op).name, hint.name, resource, at(program_.ops, b.op).name,
              a.engine == b.engine ? "changes beside other tasks" : "changes on another engine");
        }
      }
    }
  }
  return std::nullopt;
}

// A hint in turns counts the starts on all engines of its rank, and members may start tasks of
// different engines in different orders; an op that fills ends the turn. Likewise, a hint with an
// order and `fill` reads the first task left in its order, which starts of other ops change.
std::optional<std::string> GroupConditions::turns_that_differ() const {
  const spec::Hint& hint = program_.dispatch.hint;
  const bool reads_own_turn = program_.tensor_parallel.agree != Agree::leader;
  const bool rounds = hint.rule == spec::Hint::Rule::rounds;
  const bool fills = hint.rule == spec::Hint::Rule::order && !hint.fill.empty();
  if (reads_own_turn && hint.rule == spec::Hint::Rule::priority) return values_that_differ();
  if ((!rounds && !fills) || !reads_own_turn) return std::nullopt;
  const auto is_in = [](const std::vector<spec::HintPlace>& places, const spec::Lane& lane) {
    return std::any_of(places.begin(), places.end(),
                       [&](const spec::HintPlace& place) { return place.lists(lane); });
  };
  // True if both lanes change the turn, and the choice of at least one of them depends on the turn.
  const auto count = [&](const spec::Lane& a, const spec::Lane& b) {
    if (!rounds) return !is_in(hint.fill, a) && !is_in(hint.fill, b);
    return is_in(hint.places, a) && (is_in(hint.places, b) || is_in(hint.fill, b));
  };
  for (const spec::Lane& a : program_.lanes) {
    for (const spec::Lane& b : program_.lanes) {
      if (a.rank != b.rank || a.engine == b.engine || !count(a, b)) continue;
      return fmt::format(
          "{} of hint {} {} {} and {}, which run on different engines of a rank, so "
          "members may be at different turns.",
          rounds ? "The rounds" : "The order", hint.name, rounds ? "count" : "counts",
          at(program_.ops, a.op).name, at(program_.ops, b.op).name);
    }
  }
  return std::nullopt;
}

// The set of tasks that may start on an engine must only grow while the engine starts nothing, and
// starts that need no agreement must finally lead every member to the same state.
std::optional<Doubt> GroupConditions::doubt_of_pools() const {
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
      return Doubt{
          fmt::format("{} is acquired on several engines, so what may start at a member may "
                      "cease to.",
                      program_.pool_name(pool)),
          span};
    }
    const bool no_choice = alone_ || governed || (lanes.size() == 1 && all_sequential);
    if (!no_choice) {
      return Doubt{
          fmt::format("{} is acquired where each member chooses for itself, so members may "
                      "give it to different tasks.",
                      program_.pool_name(pool)),
          span, false, true};
    }
  }
  return std::nullopt;
}

// True if every member sends the edge's messages in the same order and nothing else uses its slots.
bool GroupConditions::comes_in_one_order(int edge) const {
  const spec::Edge& e = at(program_.edges, edge);
  const spec::Lane& producer = at(program_.lanes, e.producer);
  const bool own =
      std::none_of(program_.edges.begin(), program_.edges.end(),
                   [&](const spec::Edge& other) { return other.inbox == e.inbox && &other != &e; });
  // If members start tasks without agreements, the messages were proved to have one order.
  return e.fifo && own && (alone_ || producer.sequential || producer.once || is_governed(producer));
}

std::vector<int> GroupConditions::edges_that_must_fit() const {
  std::set<int> inboxes;
  std::vector<int> found;
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const int inbox = at(program_.edges, edge).inbox;
    if (inbox < 0 || comes_in_one_order(edge) || !inboxes.insert(inbox).second) continue;
    found.push_back(edge);
  }
  return found;
}

Term some_choice(const Program& program, CounterQueries& queries) {
  Solver& solver = queries.solver();
  std::vector<Term> choices;
  const auto may = [&](int lane) {
    std::vector<Term> guards;
    for (const Linear& g : at(queries.counters().starts, lane).may)
      guards.push_back(queries.not_negative(g));
    return solver.all_of(guards);
  };
  for (int a = 0; a < size_of(program.lanes); ++a) {
    const spec::Lane& lane = at(program.lanes, a);
    for (int b = a + 1; b < size_of(program.lanes); ++b) {
      const spec::Lane& other = at(program.lanes, b);
      if (lane.rank != other.rank || lane.engine != other.engine) continue;
      choices.push_back(solver.all_of({may(a), may(b)}));
    }
    if (lane.sequential || lane.once) continue;
    // Two tasks of one lane may start: two are left, and two have arrived from each producer.
    std::vector<Term> two = {may(a)};
    Linear left = tasks_of(program, a);
    left.add(a, -1).constant -= 2;
    two.push_back(queries.not_negative(left));
    for (const int e : lane.edges) {
      if (at(program.edges, e).of != spec::Of::same) continue;
      if (program.crosses_shares(at(program.edges, e))) continue;
      Linear ahead;
      ahead.add(at(program.edges, e).producer, 1).add(a, -1).constant = -2;
      two.push_back(queries.not_negative(ahead));
    }
    choices.push_back(solver.all_of(two));
  }
  return solver.any_of(choices);
}

Term more_than_slots(const Program& program, CounterQueries& queries, int inbox) {
  Linear over;
  for (const spec::Edge& e : program.edges) {
    if (e.inbox != inbox) continue;
    over.add(e.producer, 1);
    if (e.of != spec::Of::all) over.add(e.consumer, -1);
    if (e.of == spec::Of::before) over.constant += 1;
  }
  over.constant -= at(program.inboxes, inbox).slots + 1;
  return queries.not_negative(over);
}

}  // namespace ripeline::verify
