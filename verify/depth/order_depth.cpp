// Judges a committed order for every number of ranks. Positions are those of verify/order/cuts.cpp,
// but ranks are terms.
#include "verify/depth/order_depth.h"

#include <algorithm>

#include "verify/depth/assertions.h"
#include "verify/depth/lemmas.h"

namespace ripeline::verify::depth {
namespace {

// The position of each rank: the index of its repeat (at the end, the number of repeats), the turns
// completed in it, the position in the turn. These determine how often each lane has run.
class Positions {
 public:
  explicit Positions(DepthTerms& terms) : terms_(terms), solver_(terms.solver()) {
    terms.set_counts([this](const Family& lane, Term rank) { return runs(lane, rank); });
  }

  Term repeat(Term rank) { return solver_.apply("repeat", rank); }
  Term turn(Term rank) { return solver_.apply("turn", rank); }
  Term position(Term rank) { return solver_.apply("step", rank); }
  Term number(std::int64_t value) { return solver_.number(value); }
  Term end() { return number(size_of(terms_.shape().order)); }

  Term at_end(Term rank) { return repeat(rank) == end(); }
  Term stands_at(int repeat_index, int position_index, Term rank) {
    return solver_.all_of({terms_.in_range(rank), repeat(rank) == number(repeat_index),
                           position(rank) == number(position_index)});
  }

  // True if the rank is out of range or at a position that exists.
  Term is_position(Term rank) {
    std::vector<Term> ways = {!terms_.in_range(rank), at_end(rank)};
    for (int i = 0; i < size_of(terms_.shape().order); ++i) {
      const ShapeRepeat& r = at(terms_.shape().order, i);
      ways.push_back(
          solver_.all_of({repeat(rank) == number(i), number(0) <= turn(rank),
                          turn(rank) < terms_.value(r.count, rank), number(0) <= position(rank),
                          position(rank) < number(size_of(r.positions))}));
    }
    return solver_.any_of(ways);
  }

  template <class Visit>
  void each_position(const Visit& visit) {
    for (int i = 0; i < size_of(terms_.shape().order); ++i) {
      const ShapeRepeat& r = at(terms_.shape().order, i);
      for (int j = 0; j < size_of(r.positions); ++j) {
        const ShapeStep& next = at(r.steps, at(r.positions, j).next);
        visit(i, j, Family{next.op, next.chunk});
      }
    }
  }

 private:
  Term runs(const Family& lane, Term rank) {
    std::vector<Term> parts = {number(0)};
    for (int i = 0; i < size_of(terms_.shape().order); ++i) {
      const ShapeRepeat& r = at(terms_.shape().order, i);
      std::int64_t in_turn = 0;
      for (int j = 0; j < size_of(r.steps); ++j) {
        if (!(Family{at(r.steps, j).op, at(r.steps, j).chunk} == lane)) continue;
        ++in_turn;
        const auto beyond = std::find_if(r.positions.begin(), r.positions.end(),
                                         [j](const PositionInTurn& p) { return j < p.passed; });
        const Term last_before = number(beyond - r.positions.begin() - 1);
        const Term passed =
            solver_.all_of({repeat(rank) == number(i), last_before < position(rank)});
        parts.push_back(if_then_else(passed, number(1), number(0)));
      }
      if (in_turn == 0) continue;
      const Term turns = if_then_else(repeat(rank) == number(i), turn(rank), number(0));
      parts.push_back(in_turn *
                      if_then_else(number(i) < repeat(rank), terms_.value(r.count, rank), turns));
    }
    return solver_.sum(parts);
  }

  DepthTerms& terms_;
  Solver& solver_;
};

// True if a pool of the rank has no room for the lane.
Term no_room(DepthTerms& terms, const Family& lane, Term rank) {
  std::vector<Term> ways;
  for (const Use& use : at(at(terms.shape().ops, lane.op).chunks, lane.chunk).acquires) {
    ways.push_back(terms.no_room(lane, use, rank));
  }
  return terms.solver().any_of(ways);
}

Finding not_asked() {
  return {.method = Method::depth,
          .reason = "Not asked, since it is not known that the order lists each task once."};
}

}  // namespace

OrderDepth::OrderDepth(const Shape& shape, const SolverUse& use) : shape_(shape), use_(use) {
  DepthTerms terms(shape_, use_);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  const Term zero = solver.number(0);
  std::vector<Term> wrong;
  for (const ShapeRepeat& repeat : shape.order) {
    const Term count = terms.value(repeat.count, rank);
    wrong.push_back(count < zero);
    for (const ShapeStep& step : repeat.steps) {
      wrong.push_back(solver.all_of({zero < count, !terms.exists({step.op, step.chunk}, rank)}));
    }
  }
  for (const Family& lane : terms.families()) {
    std::vector<Term> total = {zero};
    for (const ShapeRepeat& repeat : shape.order) {
      for (const ShapeStep& step : repeat.steps) {
        if (Family{step.op, step.chunk} == lane) total.push_back(terms.value(repeat.count, rank));
      }
    }
    const Term all = solver.sum(total) == terms.microbatches();
    wrong.push_back(solver.all_of({terms.exists(lane, rank), !all}));
  }
  const Answer answer = solver.check("depth: once", {terms.in_range(rank), solver.any_of(wrong)});
  once_ = {.method = Method::depth,
           .reason =
               "That the order lists each task once could not be shown for every number of "
               "ranks."};
  if (answer == Answer::unsat) once_ = {.outcome = Outcome::proved, .method = Method::depth};
}

Finding OrderDepth::once() { return once_; }

Finding OrderDepth::deadlock() {
  if (once_.outcome != Outcome::proved) return not_asked();
  DepthTerms terms(shape_, use_);
  Positions positions(terms);
  Solver& solver = terms.solver();
  const Term left = solver.integer("left");
  // Room depends only on the rank's own position, so one rank is asked about.
  std::vector<Term> full;
  positions.each_position([&](int i, int j, const Family& lane) {
    full.push_back(solver.all_of({positions.stands_at(i, j, left), no_room(terms, lane, left)}));
  });
  if (solver.check("depth: no room", {positions.is_position(left), solver.any_of(full)}) !=
      Answer::unsat) {
    return {.method = Method::depth,
            .reason =
                "That each task of the order has room could not be shown for every number "
                "of ranks."};
  }
  ExtremalStages stages(terms, true);
  stages.look_at(left);
  add_backlogs(terms, stages, false);
  for (int op = 0; op < size_of(shape_.ops); ++op) {
    stages.add(at(shape_.ops, op).name + " next", [&, op](int chunk, Term rank) {
      std::vector<Term> ways;
      positions.each_position([&](int i, int j, const Family& next) {
        if (next == Family{op, chunk}) ways.push_back(positions.stands_at(i, j, rank));
      });
      return solver.any_of(ways);
    });
  }
  for (const Term t : stages.lemmas()) solver.require(t);
  solver.require(terms.in_range(left));
  solver.require(!positions.at_end(left));
  for (const Term rank : stages.ranks()) {
    solver.require(positions.is_position(rank));
    for (const Family& lane : terms.families()) {
      for (const Term fact : terms.order_facts(lane, rank)) solver.require(fact);
    }
    std::vector<Term> blocked = {!terms.in_range(rank), positions.at_end(rank)};
    positions.each_position([&](int i, int j, const Family& lane) {
      std::vector<Term> why;
      for (const Input& input : terms.inputs(lane, rank)) {
        why.push_back(solver.all_of(
            {input.there, terms.count(input.lane, input.rank) <= terms.count(lane, rank)}));
      }
      blocked.push_back(solver.all_of({positions.stands_at(i, j, rank), solver.any_of(why)}));
    });
    solver.require(solver.any_of(blocked));
  }
  if (solver.check("depth: a stuck cut") == Answer::unsat) {
    return {.outcome = Outcome::proved, .method = Method::depth};
  }
  return not_excluded("Places at which no rank can go on");
}

MemoryFinding OrderDepth::memory() {
  if (once_.outcome != Outcome::proved) return {not_asked()};
  DepthTerms terms(shape_, use_);
  Positions positions(terms);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  std::vector<Start> starts;
  positions.each_position([&](int i, int j, const Family& lane) {
    starts.push_back({lane, positions.stands_at(i, j, rank)});
  });
  return {keeps_assertions(terms, rank, {positions.is_position(rank)}, starts)};
}

}  // namespace ripeline::verify::depth
