// ReadyJudge: readiness-first dispatch, judged by counters for every microbatch count, else count
// by count.
//
// The counters' invariant, which its obligations share, is established once. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/indexing.h"
#include "verify/judge/judge.h"
#include "verify/ready/classes.h"
#include "verify/ready/counter_queries.h"
#include "verify/states/hunt.h"
#include "verify/verify.h"

namespace ripeline::verify {

class ReadyJudge final : public Judge {
 public:
  ReadyJudge(const spec::Program& program, const VerifyOptions& options);
  // Uses the given queries, in which a test may plant a mistake; if null, the program's own. They
  // are about `classes` unless `classes` is null.
  ReadyJudge(const spec::Program& program, const VerifyOptions& options,
             std::unique_ptr<const ByClasses> classes, std::unique_ptr<CounterQueries> queries);
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  // A question about all microbatch counts: whether a state of this kind is reachable.
  struct Question {
    std::string query;
    Term bad;
    std::function<Goal(int microbatches)> goal;
    // Returns facts about all these states if the invariant is inductive; empty if there are none.
    std::function<std::vector<Term>()> known = {};
  };
  [[nodiscard]] bool is_inductive();
  [[nodiscard]] bool counts_decide() const { return !classes_ && queries_->exact(); }
  [[nodiscard]] int lane_counted_by(int counter) const {
    return classes_ ? at(classes_->lane_of, counter) : counter;
  }
  [[nodiscard]] Finding settle(const Question& question);
  [[nodiscard]] Answer first_answer(const Question& question);
  [[nodiscard]] std::optional<int> next_in_question(const Question& question, int from,
                                                    std::string& gave_up);
  [[nodiscard]] std::optional<HuntResult> few_at(const Question& question, int microbatches);
  [[nodiscard]] HuntResult hunt_at(const Question& question, int microbatches);
  [[nodiscard]] Finding refuted(const Question& question, int microbatches,
                                const HuntResult& hunted, bool fewest) const;
  [[nodiscard]] std::optional<int> lane_above(const Goal& goal,
                                              const std::vector<std::int64_t>& counts,
                                              int microbatches) const;
  [[nodiscard]] std::string open_reason(int microbatches) const;
  [[nodiscard]] std::string inexact_reason() const;

  const spec::Program& program_;
  bool find_runs_;
  std::uint64_t few_steps_;
  Budget budget_;
  std::unique_ptr<const ByClasses> classes_;  // null if the queries are about the program itself
  std::unique_ptr<CounterQueries> queries_;
  bool inductive_ = false;
};

}  // namespace ripeline::verify
