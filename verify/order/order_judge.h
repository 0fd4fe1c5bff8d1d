// OrderJudge: a committed order, each count by its graph where the range is one count, or short and
// not linear; else all counts at once: by times of its tasks, or by cuts.
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
  // With this asked of cuts: the program's own, or a mistake that a test looks for. If repeats are
  // read in a way of their own, cuts are all that is asked.
  OrderJudge(const spec::Program& program, const VerifyOptions& options, CutInput asked);
  [[nodiscard]] Finding once() override;
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  // The finding for `once`, on which the others rest: made when it is first asked for.
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
  // Nothing: the order comes to its end, unless messages keep others out of slots.
  [[nodiscard]] std::optional<Finding> stuck(int microbatches, bool fewest, Method method) const;
  [[nodiscard]] bool ends_with_room(int microbatches) const;
  [[nodiscard]] Finding not_settled(const spec::Diagnostic& problem) const;
  [[nodiscard]] bool may_have_times() const;
  [[nodiscard]] MemoryFinding memory_by_times() const;
  // By times, or else makes what the rest is judged by: when the first obligation is asked for,
  // whose time it then is.
  void begin();
  void make_cuts_or_graphs();
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
  CutInput asked_;
  bool begun_ = false;
  std::optional<EveryCount> every_count_;  // by times; if there is, what follows is made for memory
  std::map<int, OrderRunResult> graphs_;   // counts that are judged by themselves; slots unbounded
  std::list<CutQueries> cuts_;             // the others; of streams, by remainder
  std::optional<spec::Diagnostic> problem_;  // neither is possible, or not for all
  std::optional<Finding> once_;              // for runs_once() alone
};

}  // namespace ripeline::verify
