#include "verify/depth/depth_terms.h"

#include <limits>
#include <set>

#include <fmt/format.h>

#include "verify/solver/expressions.h"

namespace ripeline::verify::depth {

namespace ast = spec::ast;

DepthTerms::DepthTerms(const Shape& shape, const SolverUse& use) : shape_(shape), solver_(use) {
  ranks_ = solver_.integer("ranks");
  microbatches_ = solver_.integer("microbatches");
  const Term zero = solver_.number(0);
  solver_.require(solver_.number(shape.least_ranks) <= ranks_);
  solver_.require(solver_.number(1) <= microbatches_);
  solver_.require(value(shape.least_microbatches, zero) <= microbatches_);
  if (shape.most_microbatches) {
    solver_.require(microbatches_ <= value(*shape.most_microbatches, zero));
  }
}

std::vector<Family> DepthTerms::families() const {
  std::vector<Family> found;
  for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
    for (int op = 0; op < size_of(shape_.ops); ++op) found.push_back({op, chunk});
  }
  return found;
}

std::string DepthTerms::name_of(const Family& lane) const {
  const std::string& op = at(shape_.ops, lane.op).name;
  return shape_.chunks == 1 ? op : fmt::format("{}@{}", op, lane.chunk);
}

Term DepthTerms::unknown_count(const Family& lane, Term rank) {
  return solver_.apply("done " + name_of(lane), rank);
}

Term DepthTerms::count(const Family& lane, Term rank) {
  return counts_ ? counts_(lane, rank) : unknown_count(lane, rank);
}

Term DepthTerms::value(const spec::Expr& expr, Term rank) {
  const Names names{{}, {{"r", rank}, {"ranks", ranks_}, {"microbatches", microbatches_}}};
  return *integer_term(solver_, expr, names).term;
}

Term DepthTerms::in_range(Term rank) {
  return solver_.all_of({solver_.number(0) <= rank, rank < ranks_});
}

Term DepthTerms::exists(const Family& lane, Term rank) {
  const auto& when = at(at(shape_.ops, lane.op).chunks, lane.chunk).when;
  if (!when) return in_range(rank);
  return solver_.all_of({in_range(rank), !(value(*when, rank) == solver_.number(0))});
}

// Adds the lane of `op` at the next or previous stage, which may be at an end of another run.
void DepthTerms::add_neighbours(bool next, const Family& lane, int op, Term rank,
                                std::vector<Input>& found) {
  const Term one = solver_.number(1);
  const Term first = solver_.number(0);
  const Term last = ranks_ - one;
  const auto is_up = [&](int chunk) { return at(shape_.runs, chunk) == Direction::up; };
  const bool rises = is_up(lane.chunk) == next;
  found.push_back(
      {rises ? rank < last : first < rank, {op, lane.chunk}, rises ? rank + one : rank - one});
  const int other = lane.chunk + (next ? 1 : -1);
  if (other < 0 || other >= shape_.chunks) return;
  // The next run begins at its first stage; the previous run ends at its last stage.
  const bool at_first_rank = is_up(other) == next;
  found.push_back({rank == (rises ? last : first), {op, other}, at_first_rank ? first : last});
}

std::vector<Input> DepthTerms::inputs(const Family& lane, Term rank) {
  std::vector<Input> found;
  for (const Need& need : at(shape_.ops, lane.op).needs) {
    if (need.at == ast::At::here) {
      found.push_back({solver_.all_of({}), {need.op, lane.chunk}, rank});
    } else {
      add_neighbours(need.at == ast::At::next, lane, need.op, rank, found);
    }
  }
  return found;
}

Term DepthTerms::held_by_chunk(int resource, int chunk, Term rank) {
  std::vector<Term> parts;
  for (int op = 0; op < size_of(shape_.ops); ++op) {
    const OpAtChunk& here = at(at(shape_.ops, op).chunks, chunk);
    std::int64_t factor = 0;
    for (const Use& use : here.acquires) factor += use.resource == resource ? use.amount : 0;
    for (const Use& use : here.releases) factor -= use.resource == resource ? use.amount : 0;
    if (factor == 0) continue;
    const Family lane{op, chunk};
    Term amount = factor * count(lane, rank);
    if (here.when) amount = if_then_else(exists(lane, rank), amount, solver_.number(0));
    parts.push_back(amount);
  }
  return solver_.sum(parts);
}

Term DepthTerms::held(int resource, int chunk, Term rank) {
  if (!at(shape_.resources, resource).per_rank) return held_by_chunk(resource, chunk, rank);
  std::vector<Term> parts;
  for (int c = 0; c < shape_.chunks; ++c) parts.push_back(held_by_chunk(resource, c, rank));
  return solver_.sum(parts);
}

// Room is a comparison of terms, since the capacity may depend on the rank.
Term DepthTerms::no_room(const Family& lane, const Use& use, Term rank) {
  const ShapeResource& resource = at(shape_.resources, use.resource);
  const auto& capacity = at(resource.capacity, resource.per_rank ? 0 : lane.chunk);
  if (!capacity) return solver_.any_of({});
  const core::RoomOf<Term> room{.capacity = value(*capacity, rank),
                                .amount = solver_.number(use.amount),
                                .leaving = value(use.leaving, rank)};
  return !room.fits(held(use.resource, lane.chunk, rank));
}

// True if all guards hold: not all tasks have ended, each producer that exists is ahead, and there
// is room. verify/ready/counters.h writes the same guards as sums.
Term DepthTerms::may_start(const Family& lane, Term rank) {
  const Term done = count(lane, rank);
  std::vector<Term> guards = {done < microbatches_};
  for (const Input& input : inputs(lane, rank)) {
    guards.push_back(implies(input.there, done < count(input.lane, input.rank)));
  }
  for (const Use& use : at(at(shape_.ops, lane.op).chunks, lane.chunk).acquires) {
    guards.push_back(!no_room(lane, use, rank));
  }
  return solver_.all_of(guards);
}

Term DepthTerms::blocked(const Family& lane, Term rank) {
  return implies(exists(lane, rank), !may_start(lane, rank));
}

// The facts hold if the lane exists at the rank; if not, its count is unconstrained and unused.
std::vector<Term> DepthTerms::order_facts(const Family& lane, Term rank) {
  const Term here = exists(lane, rank);
  const Term done = count(lane, rank);
  std::vector<Term> found = {implies(here, solver_.number(0) <= done),
                             implies(here, done <= microbatches_)};
  for (const Input& input : inputs(lane, rank)) {
    const Term behind = done <= count(input.lane, input.rank);
    found.push_back(implies(solver_.all_of({here, input.there}), behind));
  }
  return found;
}

std::vector<Term> DepthTerms::facts(Term rank) {
  std::vector<Term> found;
  for (const Family& lane : families()) {
    for (const Term fact : order_facts(lane, rank)) found.push_back(fact);
  }
  for (int resource = 0; resource < size_of(shape_.resources); ++resource) {
    const ShapeResource& r = at(shape_.resources, resource);
    for (int chunk = 0; chunk < size_of(r.capacity); ++chunk) {
      if (at(r.capacity, chunk)) add_pool_facts(resource, chunk, rank, found);
    }
  }
  return found;
}

// The least `leaving` of the lanes that acquire at the chunk; 0 if that depends on the rank.
std::int64_t DepthTerms::least_leaving(int resource, int chunk) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  bool acquired = false;
  for (const ShapeOp& op : shape_.ops) {
    for (const Use& use : at(op.chunks, chunk).acquires) {
      if (use.resource != resource) continue;
      const bool fixed =
          use.leaving.kind == spec::Expr::Kind::number && use.leaving.value.is_integer();
      least = std::min(least, fixed ? use.leaving.value.numerator : 0);
      acquired = true;
    }
  }
  return acquired ? least : 0;
}

// All chunks together hold at most the capacity, and chunks whose lanes all leave n or more hold at
// most the capacity minus n: the reserved room of verify/ready/invariant.h.
void DepthTerms::add_pool_facts(int resource, int chunk, Term rank, std::vector<Term>& found) {
  const ShapeResource& r = at(shape_.resources, resource);
  const Term capacity = value(*at(r.capacity, chunk), rank);
  found.push_back(implies(in_range(rank), held(resource, chunk, rank) <= capacity));
  std::set<std::int64_t> amounts;
  for (int c = 0; c < shape_.chunks; ++c) {
    if (r.per_rank || c == chunk) amounts.insert(least_leaving(resource, c));
  }
  for (const std::int64_t n : amounts) {
    if (n <= 0) continue;
    std::vector<Term> parts;
    for (int c = 0; c < shape_.chunks; ++c) {
      const bool leaves = (r.per_rank || c == chunk) && least_leaving(resource, c) >= n;
      if (leaves) parts.push_back(held_by_chunk(resource, c, rank));
    }
    found.push_back(implies(in_range(rank), solver_.sum(parts) + solver_.number(n) <= capacity));
  }
}

}  // namespace ripeline::verify::depth
