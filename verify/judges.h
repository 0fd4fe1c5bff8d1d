// The ways of judging: readiness-first dispatch by counters, a committed order by graph or cuts,
// and readiness-first dispatch that keeps room for an order by that order's proof.
//
// A judge is made for one program and asked once for each obligation; what they share, such as the
// counters' invariant, is established once.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "verify/counters.h"
#include "verify/internal.h"
#include "verify/order.h"
#include "verify/refute.h"

namespace ripeline::verify {

struct MemoryFinding {
  Finding finding;
  std::vector<std::optional<std::int64_t>> peaks;  // per pool; of proved
};

class ReadinessJudge {
 public:
  ReadinessJudge(const spec::Program& program, const VerifyOptions& options, Fault fault);
  [[nodiscard]] Finding deadlock();
  [[nodiscard]] MemoryFinding memory();

 private:
  // A question about all microbatch counts: whether a state of this kind is reachable.
  struct Question {
    std::string query;
    Term bad;
    std::function<Goal(int microbatches)> goal;
  };
  [[nodiscard]] Finding settle(const Question& question);
  [[nodiscard]] Hunted hunt_at(const Question& question, int microbatches);
  [[nodiscard]] Finding refuted(const Question& question, int microbatches, const Hunted& hunted,
                                bool fewest) const;
  [[nodiscard]] std::optional<int> lane_above(const Goal& goal,
                                              const std::vector<std::int64_t>& counts,
                                              int microbatches) const;
  [[nodiscard]] std::string open_reason(const std::vector<int>& open) const;
  [[nodiscard]] std::string inexact_reason() const;

  const spec::Program& program_;
  Fault fault_;
  bool find_runs_;
  Budget budget_;
  CounterQueries queries_;
  bool inductive_ = false;
};

class OrderJudge {
 public:
  OrderJudge(const spec::Program& program, const VerifyOptions& options, Fault fault);
  // What the others rest on: found when it is first asked for, by whoever asks.
  [[nodiscard]] const Finding& once();
  [[nodiscard]] Finding deadlock();
  [[nodiscard]] MemoryFinding memory();

 private:
  [[nodiscard]] Finding find_once();
  [[nodiscard]] Finding once_by_cuts();
  [[nodiscard]] Finding deadlock_by_cuts();
  [[nodiscard]] Finding slots_by_cuts();
  [[nodiscard]] Finding overfull(int microbatches, const Overflow& overflow,
                                 const std::string& method) const;
  [[nodiscard]] bool never_stuck_by_cuts();
  [[nodiscard]] Finding deadlock_by_states(const std::string& timing);
  [[nodiscard]] MemoryFinding memory_of_engines();
  [[nodiscard]] std::vector<std::optional<std::int64_t>> peaks_by_cuts(
      std::vector<std::int64_t> known);
  [[nodiscard]] Finding asserted_peaks();
  [[nodiscard]] Finding asserted_peaks_by_states();
  [[nodiscard]] Finding asserted_peaks_of(int microbatches, const OrderRunResult& graph) const;
  [[nodiscard]] Finding bound_broken(int microbatches, const OrderRunResult& result) const;
  // Nothing: the order comes to its end, unless messages keep others out of slots.
  [[nodiscard]] std::optional<Finding> stuck(int microbatches, bool fewest,
                                             const std::string& method) const;
  [[nodiscard]] Finding not_settled(const std::string& problem, spec::Span span) const;
  void make_cuts(const VerifyOptions& options);
  void make_graphs(std::int64_t end);
  // The fewest microbatches for which the term holds, over all cuts.
  struct Fewest {
    std::optional<int> microbatches;  // nothing: none holds
    bool gave_up = false;
  };
  [[nodiscard]] Fewest fewest(const std::string& about,
                              const std::function<Term(CutQueries&)>& bad);

  const spec::Program& program_;
  VerifyOptions options_;
  Fault fault_;
  std::map<int, OrderRunResult> graphs_;  // counts that are judged by themselves; slots unbounded
  std::list<CutQueries> cuts_;            // the others; of streams, by remainder
  std::string problem_;                   // neither is possible, or not for all
  spec::Span problem_span_;
  std::optional<Finding> once_;  // for once() alone
};

class KeptJudge {
 public:
  KeptJudge(const spec::Program& program, const VerifyOptions& options, Fault fault);
  [[nodiscard]] Finding deadlock();
  [[nodiscard]] MemoryFinding memory();

 private:
  [[nodiscard]] std::string beyond_order() const;
  [[nodiscard]] MemoryFinding by_capacities();
  // `open`: the reason if that does not settle it.
  [[nodiscard]] Finding by_states(const std::string& open,
                                  const std::function<Goal(int microbatches)>& goal_of);

  const spec::Program& program_;
  VerifyOptions options_;
  Fault fault_;
  spec::Program free_;       // without the room that is kept
  spec::Program committed_;  // to the order, in place of the dispatch
  OrderJudge order_;         // of that
  Budget budget_;
};

// --- memory.cpp ---

// The asserted bound of a pool, if there is one: of several, each is a bound.
struct AssertedBound {
  int pool = 0;
  const spec::PeakAssertion* assertion = nullptr;
  Term bound;
};
struct AssertedBounds {
  std::vector<AssertedBound> bounds;
  std::string problem;  // a bound is not linear
  spec::Span span;
};
[[nodiscard]] AssertedBounds asserted_bounds(const spec::Program& program, Solver& solver,
                                             Term microbatches, Fault fault);
// Per pool the least asserted bound for this count.
[[nodiscard]] Goal goal_of_assertions(const spec::Program& program, int microbatches);
// A bound that has no integer value for this count, with its place: it bounds nothing, so nothing
// is proved of it.
[[nodiscard]] std::optional<spec::Span> bound_without_value(const spec::Program& program,
                                                            int microbatches);
// The assertion that the last start of these events breaks.
[[nodiscard]] spec::Span span_of_broken(const spec::Program& program, const Goal& goal,
                                        int microbatches, int last_lane);

// The least bound of each pool that is never exceeded, or nothing where it grows with the
// microbatches. `known`: what some run reaches.
[[nodiscard]] std::vector<std::optional<std::int64_t>> least_bounds(
    const spec::Program& program, Solver& solver,
    const std::function<Term(int pool, Term bound)>& above, std::vector<std::int64_t> known);

}  // namespace ripeline::verify
