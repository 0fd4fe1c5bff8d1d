// A committed order with every microbatch count, by queries over consistent cuts.
//
// A rank is at a *position* of its order: in a repeat, after some of its turns, before one of its
// steps; or at the end. The number of tasks that each lane has then run is linear in the turn and
// in the microbatches. A *cut* is a position of each rank. A cut is consistent if no lane has run
// ahead of a producer, so that some run could have reached it. cuts.cpp explains why the query for
// a stuck cut is exact.
//
// An example: 1F1B on two ranks with M microbatches, where lanes have run f0, b0, f1 and b1 tasks.
//   rank 0   F * 1;  (F B) * (M - 1);  B * 1;       rank 1   (F B) * M;
//   before F, first repeat                  f0 = 0      b0 = 0
//   before F, second repeat, after t turns  f0 = 1 + t  b0 = t        0 <= t < M - 1
//   before B, second repeat, after t turns  f0 = 2 + t  b0 = t        0 <= t < M - 1
//   before B, last repeat                   f0 = M      b0 = M - 1
//   at the end                              f0 = M      b0 = M
//   before F of rank 1, after u turns       f1 = u      b1 = u        0 <= u < M
//   before B of rank 1, after u turns       f1 = u + 1  b1 = u        0 <= u < M
//   at the end of rank 1                    f1 = M      b1 = M
// A cut is consistent if f1 <= f0, b1 <= f1, b0 <= b1. A stuck cut has each rank at its end or
// before a task that lacks something. Rank 0 lacks something only before a B, when b1 <= b0, hence
// b1 = b0. Then rank 1 stands before its F, which lacks nothing since f1 = b1 = b0 < f0; or before
// its B, which never lacks its own F; or at its end, and b0 = M is no position before a B. So no
// cut is stuck, for any M. If rank 0's first task were a B, the cut with all four counts 0 would be
// stuck: 0B0 and 1F0 both need 0F0.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "spec/guards.h"
#include "spec/program.h"
#include "verify/order/periods.h"
#include "verify/order/repeats.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// The reason why cuts cannot model the program, such as a rendezvous between tasks of different
// microbatches or between lanes that have different microbatches; nullopt if cuts can model it.
[[nodiscard]] std::optional<spec::Diagnostic> beyond_cuts(const spec::Program& program);

// The subject of the queries: a program, and how its order is read. Tests change one of these to
// plant a mistake. The program must outlive the input.
struct CutInput {
  CutInput(const spec::Program& of) : program(of) {}
  CutInput(spec::Program&& of) = delete;  // the input keeps a reference
  CutInput(const spec::Program& of, std::function<void(Repeat&)> change)
      : program(of), reread(std::move(change)) {}
  const spec::Program& program;
  std::function<void(Repeat&)> reread = {};  // changes each repeat, reduced to one engine
};

// The order as positions (repeat, turn, step) whose counts are linear in the turn and the
// microbatches.
class CutQueries {
 public:
  CutQueries(CutInput input, SolverUse use);
  // Makes queries, for an order with streams, about the counts period * q + remainder only, from
  // family.first_microbatches() on.
  CutQueries(CutInput input, SolverUse use, const PeriodicFamily& family, std::int64_t remainder);

  // Set if a count is not linear, so that there are no queries; then call nothing else.
  [[nodiscard]] const std::optional<spec::Diagnostic>& problem() const { return problem_; }

  // True if some rank's list does not have each task exactly once, or a repeat's count is below 0.
  [[nodiscard]] Term not_once();
  // True if a rank is before a task for which its pools have no room.
  [[nodiscard]] Term no_room();
  // True if the ranks' positions are a consistent cut, not all at the end, and no rank can proceed.
  [[nodiscard]] Term stuck_cut();
  // True if at a consistent cut more messages wait for an inbox than it has slots.
  [[nodiscard]] Term overfull();
  // True if the pool holds more than the bound just after a start; other ranks may do anything.
  [[nodiscard]] Term above(int pool, Term bound);

  [[nodiscard]] Solver& solver() { return solver_; }
  [[nodiscard]] const spec::Program& program() const { return program_; }
  [[nodiscard]] Term microbatches() const { return microbatches_; }

 private:
  struct Position {
    Term here;      // the rank is at this position
    int lane = -1;  // the next task's; -1 at the end
    // The lanes that may have run the previous task, each with the condition under which it has.
    std::vector<std::pair<Term, int>> last;
  };

  void require_range();
  void add_positions(int rank);
  void add_positions(int rank, spec::Engine engine);
  [[nodiscard]] Repeat of_engine(const Repeat& repeat, spec::Engine engine) const;
  [[nodiscard]] const std::vector<Position>& positions_of(const spec::Lane& lane) const;
  [[nodiscard]] Term lacks_room(int lane);
  [[nodiscard]] Term held(int pool);
  [[nodiscard]] Term total_of(int lane);
  [[nodiscard]] Term consistent();
  [[nodiscard]] Term is_next(int lane);
  [[nodiscard]] Term is_last(int lane);
  [[nodiscard]] Term needs_missing(const spec::Edge& edge);
  [[nodiscard]] Term accepted(const spec::Edge& edge, Term count);
  [[nodiscard]] Term not_handed_over(const Position& position);
  [[nodiscard]] Term pending(const spec::Edge& edge);
  [[nodiscard]] Term shift_of(const spec::Edge& edge);
  [[nodiscard]] Term taken_of(const spec::Edge& edge, const spec::Share& needed);
  [[nodiscard]] Term none_ahead(const spec::Edge& edge);
  [[nodiscard]] std::int64_t acquired(int lane, int pool) const;
  [[nodiscard]] std::vector<Term> unreleased_beside(int lane, int pool);
  [[nodiscard]] std::vector<Term> unreleased_on(int rank, spec::Engine engine, int pool);
  void add_unreleased(int lane, int pool, std::vector<Term>& ways);
  static void add_each(std::vector<Term>& sums, const std::vector<Term>& ways);
  [[nodiscard]] Term held_by_running(std::size_t engine, int pool, std::vector<Term>& facts);

  CutInput input_;
  const spec::Program& program_;
  std::vector<spec::Guards> guards_;  // per lane
  Solver solver_;
  Term microbatches_;
  std::optional<spec::Diagnostic> problem_;
  std::vector<std::vector<Repeat>> repeats_;      // per rank
  std::vector<std::vector<Position>> positions_;  // per rank and engine
  std::vector<Term> done_;                        // per lane, at its rank's position
  std::map<std::pair<std::size_t, int>, Term>
      running_;  // by a rank's engine and a pool: the amount that the engine's task holds
};

}  // namespace ripeline::verify
