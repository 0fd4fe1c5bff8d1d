// A committed order: judged for one microbatch count by a graph, and for every count by a query
// over consistent cuts.
//
// A rank does its tasks one after another, so a task whose resource has no room when it is next
// never starts, and all runs of one microbatch count do the same tasks: a deadlock is one, or is
// none, whatever the timing. The same holds with several engines when no resource is acquired on
// two of them, and for rendezvous: waiting only ever ends. Slots that other messages may take make
// the one exception (Overflow).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/internal.h"
#include "verify/periods.h"
#include "verify/solver.h"
#include "verify/terms.h"

namespace ripeline::verify {

// --- one microbatch count: graph.cpp ---

struct OrderRunResult {
  std::optional<spec::Diagnostics> invalid;  // the order has no meaning for this count
  bool finished = false;                     // every task has ended
  Run run;  // all tasks that can run, in an order in which they can
  // Per pool; of pairs the most that may be held while the first has not released, if it runs on.
  std::vector<std::int64_t> peaks;
  std::vector<int> peak_at;  // per pool: the index in `run` of the task that starts it, or -1
  // A rank's list is not each task exactly once: what is wrong, or empty.
  std::string not_once;
};
// Takes time in proportion to the number of tasks. With the slots that links have, each message
// arriving just before the task that takes it; no timing goes further. Slots only keep engines from
// going on, and without them it is simpler to follow: so peaks are known without them.
enum class Slots : std::uint8_t { as_given, unbounded };
[[nodiscard]] OrderRunResult run_order(const spec::Program& program, int microbatches, Slots slots);

// A run after which more messages wait for an inbox than it has slots. Timing may then leave out
// the one that is taken first, and its rank never passes the task that takes it; and if there is no
// such run, no message ever waits for a slot. The order must finish, with the slots that links
// have. For orders whose inboxes are each taken from on one engine.
struct Overflow {
  int inbox = -1;
  Run run;
};
// Takes time in proportion to the number of tasks and that of ranks with inboxes.
[[nodiscard]] std::optional<Overflow> find_overflow(const spec::Program& program, int microbatches);

// Why the order's tasks alone do not say what runs, as in "X is acquired" (on two engines); empty:
// they do. A resource that two engines of a rank acquire goes to whichever is first, and an inbox
// from which two engines take is filled by either.
[[nodiscard]] std::string depends_on_timing(const spec::Program& program);

// --- every microbatch count: cuts.cpp ---

// Why cuts cannot follow the program, or empty: a rendezvous whose taker is of another microbatch,
// or has others.
[[nodiscard]] std::string beyond_cuts(const spec::Program& program);

// The order as places (repeat, turn, step) whose counts are linear in the turn and the
// microbatches.
class CutQueries {
 public:
  CutQueries(const spec::Program& program, SolverUse use, Fault fault);
  // Only the counts period * q + remainder, those from `first` on: of an order with streams.
  CutQueries(const spec::Program& program, SolverUse use, Fault fault, const PeriodicFamily& family,
             std::int64_t remainder);

  // Why there is nothing to ask: a count is not linear. Then nothing else may be called.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] spec::Span problem_span() const { return problem_span_; }

  // Some rank's list is not each task exactly once, or has a count below 0.
  [[nodiscard]] Term not_once();
  // A rank stands before a task for which there is no room.
  [[nodiscard]] Term no_room();
  // Ranks stand at places that agree with one another, not all at the end, and none can go on.
  [[nodiscard]] Term stuck_cut();
  // More messages wait for an inbox than it has slots, at places that agree with one another.
  [[nodiscard]] Term overfull();
  // The pool holds more than the bound just after a start, whatever the other ranks do.
  [[nodiscard]] Term above(int pool, Term bound);

  [[nodiscard]] Solver& solver() { return solver_; }
  [[nodiscard]] Term microbatches() const { return microbatches_; }

 private:
  struct Step {
    int lane = -1;  // -1: there is no such lane
  };
  struct Repeat {
    Term count;
    std::vector<Step> steps;
  };
  struct Place {
    Term here;      // the rank stands here
    int lane = -1;  // next; -1 at the end
    // Whose task was the last before: one of these lanes, each where its term holds.
    std::vector<std::pair<Term, int>> last;
  };

  void require_range();
  void read_rank(const spec::Order& order, int rank);
  bool read_repeat(const spec::OrderRepeat& repeat, int rank, const Names& names);
  void add_places(int rank);
  void add_places(int rank, spec::Engine engine);
  [[nodiscard]] const std::vector<Place>& places_of(const spec::Lane& lane) const;
  [[nodiscard]] Term lacks_room(int lane);
  [[nodiscard]] Term held(int pool);
  [[nodiscard]] Term total_of(int lane);
  [[nodiscard]] Term consistent();
  [[nodiscard]] Term is_next(int lane);
  [[nodiscard]] Term is_last(int lane);
  [[nodiscard]] Term needs_missing(const spec::Edge& edge);
  [[nodiscard]] Term accepted(const spec::Edge& edge, Term count);
  [[nodiscard]] Term not_handed_over(const Place& place);
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

  const spec::Program& program_;
  Fault fault_;
  Solver solver_;
  Term microbatches_;
  std::string problem_;
  spec::Span problem_span_;
  std::vector<std::vector<Repeat>> repeats_;  // per rank
  std::vector<std::vector<Place>> places_;    // per rank and engine
  std::vector<Term> done_;                    // per lane, where its rank stands
  std::map<std::pair<std::size_t, int>, Term>
      running_;  // per engine of a rank, and pool: what it holds
};

}  // namespace ripeline::verify
