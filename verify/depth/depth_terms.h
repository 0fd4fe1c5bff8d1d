// DepthTerms: the counters of verify/ready/counters.h when the number of ranks is open.
//
// For each op and chunk a function says how many tasks have ended at each rank; the guards and the
// invariant are those of verify/ready/counters.h, written for the lane at one rank, which may be
// any term. Nothing is quantified: whoever asks says at which ranks. A need at the stage before is
// the count at the rank before in a chunk that goes up the ranks, at the rank behind in one that
// goes down, and at an end of the run the last stage of another chunk: inputs() lists these cases,
// each with the condition under which it is the one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "spec/indexing.h"
#include "verify/depth/shape.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

// The lanes of an op at a chunk: one for each rank where it exists.
struct Family {
  int op = 0;
  int chunk = 0;
  bool operator==(const Family&) const = default;
};

// A lane that another needs, if `there` holds.
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

  // How many have ended: an unknown function for each family, unless counts are given.
  [[nodiscard]] Term count(const Family& lane, Term rank);
  // Sets what count() returns until the next call; an empty function: the unknown ones again.
  void set_counts(Counts counts) { counts_ = std::move(counts); }
  [[nodiscard]] Term unknown_count(const Family& lane, Term rank);

  // A linear expression at this rank.
  [[nodiscard]] Term value(const spec::Expr& expr, Term rank);
  [[nodiscard]] Term in_range(Term rank);
  [[nodiscard]] Term exists(const Family& lane, Term rank);
  [[nodiscard]] std::vector<Input> inputs(const Family& lane, Term rank);
  // The pool's amount: the rank's for a resource `per rank`, whatever the chunk, else the stage's.
  [[nodiscard]] Term held(int resource, int chunk, Term rank);
  // There is no room for this use of the lane.
  [[nodiscard]] Term no_room(const Family& lane, const Use& use, Term rank);

  // All guards of a lane that exists.
  [[nodiscard]] Term may_start(const Family& lane, Term rank);
  [[nodiscard]] Term blocked(const Family& lane, Term rank);

  // The invariant at one rank, if that is in range.
  [[nodiscard]] std::vector<Term> facts(Term rank);
  // The part of facts() about one lane: its count, and that it has not run ahead of a producer.
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
