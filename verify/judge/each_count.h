// Obligations that are settled count by count of microbatches.
//
// A judge that has no proof for all counts at once puts one question to a count after another, and
// says what each of them comes to. This is the one place that says which counts are asked, when the
// rest is left open, and what the answers amount to:
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

// Counts whose states are visited.
inline constexpr int kFewCounts = 8;

// Which counts are asked, from the fewest on.
struct CountPlan {
  spec::MicrobatchRange range;
  int most = std::numeric_limits<int>::max();  // so many are asked, and the rest is left open;
  bool to_the_end = false;         // but all of a range with an end, as long as each is safe
  const Budget* budget = nullptr;  // once it is spent, the rest is left open
  // The first count in question from this one on, or nothing; empty: each in range is.
  std::function<std::optional<int>(int from)> in_question{};
};

// The answer for one count.
struct CountAnswer {
  enum class What : std::uint8_t {
    safe,     // no choice goes wrong
    others,   // other choices than the dispatch's go wrong: the finding's other_choices
    open,     // nothing was found, and not everything was visited
    settled,  // the finding is the answer for all counts: a run was found, or none ever will be
  };
  What what = What::open;
  Finding finding{};
  bool dispatch_is_safe = false;  // for others and open: a larger count may be the fewest
};

struct CountAnswers {
  std::optional<Finding> settled;  // no count was asked after it
  std::vector<int> safe;
  std::optional<int> open;                      // the fewest
  std::optional<Counterexample> other_choices;  // from the fewest such count
};

// `fewest`: no smaller count has a run of the dispatch's, for sure.
[[nodiscard]] CountAnswers each_count(
    const CountPlan& plan, const std::function<CountAnswer(int microbatches, bool fewest)>& ask);

// The answer that hunt() gives for one count. `of_run` makes the finding of its run.
[[nodiscard]] CountAnswer answer_of(const HuntResult& hunted,
                                    const std::function<Finding()>& of_run);

// The finding that settled a count, if one did; unknown if some count is safe only through its
// hint; proved by states if all counts in question are safe; else `open`.
[[nodiscard]] Finding by_counts(const CountAnswers& answers, Finding open);

// Refuted by a run that shows the goal, in sentences. Machine has replayed it.
[[nodiscard]] Finding refuted_by(const spec::Machine& machine, const Goal& goal,
                                 const std::vector<spec::Event>& run, bool fewest, Method method);
// The resource that the first of these waits finds no room in, if any does.
[[nodiscard]] std::optional<spec::Span> span_of_full(const spec::Program& program,
                                                     const std::vector<Wait>& waits);

}  // namespace ripeline::verify
