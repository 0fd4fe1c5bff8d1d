#include "verify/order/repeats.h"

#include <utility>

#include <fmt/format.h>

#include "verify/solver/expressions.h"

namespace ripeline::verify {

using spec::Program;

namespace {

spec::Diagnostics not_linear(const std::string& problem, spec::Span span) {
  return {{"order-not-linear", problem, "", span}};
}

spec::Result<int> lane_of(const Program& program, const spec::OrderStep& step, int rank,
                          const Names& names) {
  spec::Rational chunk;
  if (step.chunk) {
    const spec::Expr value = folded(*step.chunk, names);
    if (value.kind != spec::Expr::Kind::number || !value.value.is_integer()) {
      return not_linear(fmt::format("the chunk `{}` depends on the microbatches", print(value)),
                        step.chunk->span);
    }
    chunk = value.value;
  }
  int lane = -1;
  for (int stage = 0; stage < size_of(program.stages); ++stage) {
    const spec::Stage& s = at(program.stages, stage);
    if (s.rank == rank && s.chunk == chunk.numerator) lane = program.lane_of(step.op, stage);
  }
  return lane;
}

spec::Result<Repeat> read_repeat(const Program& program, const spec::OrderRepeat& repeat, int rank,
                                 Solver& solver, const Names& names) {
  const IntegerTerm count = integer_term(solver, repeat.count, names);
  if (!count.term) return not_linear(count.problem, repeat.count.span);
  std::vector<int> lanes;
  for (const spec::OrderStep& step : repeat.steps) {
    const spec::Result<int> lane = lane_of(program, step, rank, names);
    if (!lane.ok()) return lane.errors();
    lanes.push_back(lane.value());
  }
  return repeat_of(*count.term, std::move(lanes));
}

}  // namespace

Repeat repeat_of(Term count, std::vector<int> lanes) {
  const int steps = size_of(lanes);
  return {count, std::move(lanes), positions_in_turn(steps)};
}

spec::Result<std::vector<Repeat>> read_repeats(const Program& program, const spec::Order& order,
                                               int rank, Solver& solver, Term microbatches) {
  Names names;
  names.constants["r"] = {rank, 1};
  names.constants["chunks"] = {program.chunks(rank), 1};
  names.terms["microbatches"] = microbatches;
  if (program.microbatches.max == program.microbatches.min) {
    names.constants["microbatches"] = {program.microbatches.min, 1};
  }
  for (const spec::OrderLet& let : order.lets) {
    const spec::Expr value = folded(let.value, names);
    if (value.kind == spec::Expr::Kind::number) {
      names.constants[let.name] = value.value;
      continue;
    }
    const IntegerTerm term = integer_term(solver, value, names);
    if (!term.term) return not_linear(term.problem, let.value.span);
    names.terms[let.name] = *term.term;
  }
  std::vector<Repeat> repeats;
  for (const spec::OrderRepeat& repeat : order.repeats) {
    if (!repeat.is_of(rank)) continue;
    spec::Result<Repeat> read = read_repeat(program, repeat, rank, solver, names);
    if (!read.ok()) return read.errors();
    repeats.push_back(std::move(read).value());
  }
  return repeats;
}

std::vector<Repeat> periodic_repeats(const PeriodicOrder& order, int rank, Solver& solver,
                                     Term turn) {
  std::vector<Repeat> repeats;
  for (const PeriodicRun& run : at(order.ranks, rank)) {
    repeats.push_back(repeat_of(run.count.slope * turn + solver.number(run.count.base), run.lanes));
  }
  return repeats;
}

}  // namespace ripeline::verify
