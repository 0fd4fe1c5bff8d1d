// DepthTerms: the counters of verify/ready/counters.h for any number of ranks.
//
// For each op and chunk, a function gives the number of tasks that have ended at each rank. Guards
// and invariant are those of verify/ready/counters.h, written for the lane at one rank, which may
// be any term. The caller chooses the ranks, so no quantifier is used. A need at the previous stage
// reads the count at the rank below if the chunk goes up the ranks, and at the rank above if the
// chunk goes down. At the first stage of a chunk, it reads the count at the last stage of another
// chunk. inputs() lists these cases, each with its condition.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "spec/indexing.h"
#include "verify/depth/shape.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// The lanes of an op at a chunk: one for each rank where the op exists.
struct Family {
  int op = 0;
  int chunk = 0;
  bool operator==(const Family&) const = default;
};

// A lane that another lane needs if `there` holds.
struct Input {
  Term there;
  Family lane;
  Term rank;
};

class DepthTerms {
 public:
  using Counts = std::function<Term(const Family&, Term rank)>;

  DepthTerms(const Shape& shape, const SolverUse& use);

  [[nodiscard]] Solver& solver() { return solver_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] Term ranks() const { return ranks_; }
  [[nodiscard]] Term microbatches() const { return microbatches_; }
  [[nodiscard]] std::vector<Family> families() const;
  [[nodiscard]] std::string name_of(const Family& lane) const;

  // The number of ended tasks: an unknown function for each family, unless counts were set.
  [[nodiscard]] Term count(const Family& lane, Term rank);
  // Sets what count() returns until the next call; an empty function restores unknown counts.
  void set_counts(Counts counts) { counts_ = std::move(counts); }
  [[nodiscard]] Term unknown_count(const Family& lane, Term rank);

  // The value of a linear expression at this rank.
  [[nodiscard]] Term value(const spec::Expr& expr, Term rank);
  [[nodiscard]] Term in_range(Term rank);
  [[nodiscard]] Term exists(const Family& lane, Term rank);
  [[nodiscard]] std::vector<Input> inputs(const Family& lane, Term rank);
  // The amount held: by the rank, for any chunk, if the resource is `per rank`; else by the stage.
  [[nodiscard]] Term held(int resource, int chunk, Term rank);
  // True if the lane's pool has no room for this use.
  [[nodiscard]] Term no_room(const Family& lane, const Use& use, Term rank);

  // True if all guards of the lane hold; the lane must exist.
  [[nodiscard]] Term may_start(const Family& lane, Term rank);
  [[nodiscard]] Term blocked(const Family& lane, Term rank);

  // The facts of the invariant at one rank, which must be in range.
  [[nodiscard]] std::vector<Term> facts(Term rank);
  // The part of facts() about one lane: its count is in range and not ahead of a producer's.
  [[nodiscard]] std::vector<Term> order_facts(const Family& lane, Term rank);

  [[nodiscard]] Term implies(Term a, Term b) { return solver_.any_of({!a, b}); }

 private:
  void add_neighbours(bool next, const Family& lane, int op, Term rank, std::vector<Input>& found);
  [[nodiscard]] Term held_by_chunk(int resource, int chunk, Term rank);
  void add_pool_facts(int resource, int chunk, Term rank, std::vector<Term>& found);
  [[nodiscard]] std::int64_t least_leaving(int resource, int chunk) const;

  const Shape& shape_;
  Solver solver_;
  Term ranks_;
  Term microbatches_;
  Counts counts_;
};

}  // namespace ripeline::verify::depth
