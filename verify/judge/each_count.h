// Obligations that are settled count by count of microbatches.
//
// A judge without a proof for all counts at once asks one question for one count after another.
// each_count() decides which counts are asked and when the rest is left open, and collects the
// answers; by_counts() draws the conclusion:
//
//   const CountAnswers answers = each_count(
//       {.range = program.microbatches, .most = 8, .budget = &budget},
//       [&](int microbatches, bool fewest) -> CountAnswer { … });
//   return by_counts(answers, {.reason = "Some counts are open."});
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/judge/judge.h"
#include "verify/states/budget.h"
#include "verify/states/hunt.h"

namespace ripeline::verify {

// The greatest number of counts whose states are all visited.
inline constexpr int kFewCounts = 8;

// The counts to ask, from the fewest microbatches on.
struct CountPlan {
  spec::MicrobatchRange range;
  int most = std::numeric_limits<int>::max();  // at most this many; the rest stays open
  bool to_the_end = false;         // a range that has an end is asked to its end while all are safe
  const Budget* budget = nullptr;  // once the budget is spent, the rest stays open
  // Returns the first count >= `from` to be asked, or nullopt. An empty function asks all counts.
  std::function<std::optional<int>(int from)> in_question{};
};

// The answer for one count.
struct CountAnswer {
  enum class What : std::uint8_t {
    safe,     // no choice goes wrong
    others,   // only choices unlike the dispatch's go wrong: see other_choices
    open,     // nothing was found, and not everything was visited
    settled,  // the finding is final for all counts, with a run or without
  };
  What what = What::open;
  Finding finding{};
  bool dispatch_is_safe = false;  // for others, open: the dispatch makes no such run
};

struct CountAnswers {
  std::optional<Finding> settled;  // the answer that ended the asking
  std::vector<int> safe;
  std::optional<int> open;                      // the fewest microbatches left open
  std::optional<Counterexample> other_choices;  // with the fewest microbatches that have one
};

// `fewest` is true if the dispatch certainly makes no run of this kind with a smaller count.
[[nodiscard]] CountAnswers each_count(
    const CountPlan& plan, const std::function<CountAnswer(int microbatches, bool fewest)>& ask);

// The answer for one count, from the result of hunt(). `of_run` makes the finding for hunt()'s run.
[[nodiscard]] CountAnswer answer_of(const HuntResult& hunted,
                                    const std::function<Finding()>& of_run);

// The finding that is final for all counts, if there is one. Otherwise unknown if some count is
// safe only because of the hint; proved by states if all counts in question are safe; else `open`.
[[nodiscard]] Finding by_counts(const CountAnswers& answers, Finding open);

// A refutation by a run that shows the goal, with explanations. Machine must have replayed the run.
[[nodiscard]] Finding refuted_by(const spec::Machine& machine, const Goal& goal,
                                 const std::vector<spec::Event>& run, bool fewest, Method method);
// The source location of the first resource for whose room one of these tasks waits, if any does.
[[nodiscard]] std::optional<spec::Span> span_of_full(const spec::Program& program,
                                                     const std::vector<BlockedTask>& waits);

}  // namespace ripeline::verify
