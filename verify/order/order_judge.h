// OrderJudge: a committed order, judged count by count by graphs if the range is one count, or
// short and not linear; else for all counts at once, by times of its tasks or by cuts.
//
// One thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/judge/judge.h"
#include "verify/order/cuts.h"
#include "verify/order/every_count.h"
#include "verify/order/order_run.h"
#include "verify/verify.h"

namespace ripeline::verify {

class OrderJudge final : public Judge {
 public:
  OrderJudge(const spec::Program& program, const VerifyOptions& options)
      : OrderJudge(program, options, program) {}
  // `asked` is the subject of cuts: the program's own, or one with a mistake that a test plants. If
  // it changes how repeats are read, only cuts are asked.
  OrderJudge(const spec::Program& program, const VerifyOptions& options, CutInput asked);
  [[nodiscard]] Finding once() override;
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  // The finding for `once`, on which the other obligations rest; made when first asked for.
  [[nodiscard]] const Finding& runs_once();
  [[nodiscard]] Finding find_once();
  [[nodiscard]] Finding once_by_cuts();
  [[nodiscard]] Finding deadlock_by_cuts();
  [[nodiscard]] Finding slots_by_cuts();
  [[nodiscard]] Finding overfull(int microbatches, const Overflow& overflow, Method method) const;
  [[nodiscard]] bool never_stuck_by_cuts();
  [[nodiscard]] Finding deadlock_by_states(const std::string& timing);
  [[nodiscard]] MemoryFinding memory_of_engines();
  void raise_to_sample(std::vector<std::int64_t>& peaks) const;
  [[nodiscard]] std::vector<std::optional<std::int64_t>> bounds_by_cuts(
      std::vector<std::int64_t> known);
  [[nodiscard]] Finding asserted_peaks();
  [[nodiscard]] Finding asserted_peaks_by_states();
  [[nodiscard]] Finding asserted_peaks_of(int microbatches, const OrderRunResult& graph) const;
  [[nodiscard]] Finding bound_broken(int microbatches, const OrderRunResult& result) const;
  // Nothing if the order comes to its end, unless messages in slots keep others out.
  [[nodiscard]] std::optional<Finding> stuck(int microbatches, bool fewest, Method method) const;
  [[nodiscard]] bool ends_with_room(int microbatches) const;
  [[nodiscard]] Finding not_settled(const spec::Diagnostic& problem) const;
  [[nodiscard]] bool may_have_times() const;
  [[nodiscard]] MemoryFinding memory_by_times() const;
  // Proves by times, or else makes the cuts or graphs by which the rest is judged. Called when the
  // first obligation is asked for, so the time counts for that obligation.
  void begin();
  void make_cuts_or_graphs();
  void make_cuts(const VerifyOptions& options);
  void make_graphs(std::int64_t end);
  // The fewest microbatches for which the term holds, over all cuts.
  struct Fewest {
    std::optional<int> microbatches;  // nothing if it holds for none
    bool gave_up = false;
  };
  [[nodiscard]] Fewest fewest(const std::string& about,
                              const std::function<Term(CutQueries&)>& bad);

  const spec::Program& program_;
  VerifyOptions options_;
  CutInput asked_;
  bool begun_ = false;
  std::optional<EveryCount> every_count_;  // by times; if present, what follows is made for memory
  std::map<int, OrderRunResult> graphs_;   // per count judged by itself; slots unbounded
  std::list<CutQueries> cuts_;             // for the other counts; with streams, by remainder
  std::optional<spec::Diagnostic> problem_;  // why no cuts cover counts beyond graphs_
  std::optional<Finding> once_;              // set and read by runs_once() alone
};

}  // namespace ripeline::verify
