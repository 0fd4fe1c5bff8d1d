#include "verify/depth/lemmas.h"

#include <fmt/format.h>

namespace ripeline::verify::depth {

ExtremalStages::ExtremalStages(DepthTerms& terms, bool each_chunk)
    : terms_(terms), each_chunk_(each_chunk && terms.shape().chunks > 1) {
  ranks_ = {terms.solver().number(0), terms.ranks() - terms.solver().number(1)};
}

void ExtremalStages::look_at(Term rank) {
  const Term one = terms_.solver().number(1);
  for (const Term r : {rank, rank - one, rank + one}) ranks_.push_back(r);
}

void ExtremalStages::add(const std::string& name, const Condition& condition) {
  add_extremes(name, condition);
  if (!each_chunk_) return;
  for (int chunk = 0; chunk < terms_.shape().chunks; ++chunk) {
    const Term never = terms_.solver().any_of({});
    add_extremes(fmt::format("{} at chunk {}", name, chunk),
                 [=](int c, Term rank) { return c == chunk ? condition(c, rank) : never; });
  }
}

void ExtremalStages::add_extremes(const std::string& name, const Condition& condition) {
  for (const bool last : {true, false}) {
    const std::string extreme = (last ? "last " : "first ") + name;
    const Term rank = terms_.solver().integer("rank of the " + extreme);
    extremes_.push_back(
        {terms_.solver().integer("chunk of the " + extreme), rank, last, condition});
    look_at(rank);
  }
}

// True for stages after the extreme stage if it is a last one, or before it if it is a first one.
Term ExtremalStages::beyond(const Extreme& e, int chunk, Term rank) {
  Solver& solver = terms_.solver();
  const Term here = solver.number(chunk);
  const bool towards_larger = (at(terms_.shape().runs, chunk) == Direction::up) == e.last;
  const Term in_run = towards_larger ? e.rank < rank : rank < e.rank;
  return solver.any_of(
      {e.last ? e.chunk < here : here < e.chunk, solver.all_of({e.chunk == here, in_run})});
}

std::vector<Term> ExtremalStages::lemmas() {
  Solver& solver = terms_.solver();
  const Term none_below = solver.number(-1);
  const Term none_above = solver.number(terms_.shape().chunks);
  std::vector<Term> found;
  for (const Extreme& e : extremes_) {
    const Term nowhere = e.chunk == (e.last ? none_below : none_above);
    const Term somewhere =
        solver.all_of({none_below < e.chunk, e.chunk < none_above, terms_.in_range(e.rank)});
    found.push_back(solver.any_of({nowhere, somewhere}));
    for (int chunk = 0; chunk < terms_.shape().chunks; ++chunk) {
      found.push_back(terms_.implies(e.chunk == solver.number(chunk), e.condition(chunk, e.rank)));
      for (const Term rank : ranks_) {
        found.push_back(terms_.implies(beyond(e, chunk, rank), !e.condition(chunk, rank)));
      }
    }
  }
  return found;
}

void add_backlogs(DepthTerms& terms, ExtremalStages& stages, bool across) {
  DepthTerms* t = &terms;
  for (int op = 0; op < size_of(terms.shape().ops); ++op) {
    const ShapeOp& written = at(terms.shape().ops, op);
    stages.add(written.name + " to do", [=](int chunk, Term rank) {
      const Family lane{op, chunk};
      return t->solver().all_of({t->exists(lane, rank), t->count(lane, rank) < t->microbatches()});
    });
    for (const Need& need : written.needs) {
      if (need.at != spec::ast::At::here) continue;
      const int producer = need.op;
      stages.add(
          fmt::format("{} behind {}", written.name, at(terms.shape().ops, producer).name),
          [=](int chunk, Term rank) {
            const Family lane{op, chunk};
            return t->solver().all_of(
                {t->exists(lane, rank), t->count(lane, rank) < t->count({producer, chunk}, rank)});
          });
    }
    if (!across) continue;
    stages.add(written.name + " behind a neighbour", [=](int chunk, Term rank) {
      const Family lane{op, chunk};
      std::vector<Term> ways;
      for (const Input& input : t->inputs(lane, rank)) {
        ways.push_back(
            t->solver().all_of({t->exists(lane, rank), input.there,
                                t->count(lane, rank) < t->count(input.lane, input.rank)}));
      }
      return t->solver().any_of(ways);
    });
  }
}

}  // namespace ripeline::verify::depth
