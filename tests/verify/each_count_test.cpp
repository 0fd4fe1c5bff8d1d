// Tests which counts are queried, when the others are left open, and how answers are combined.
#include "verify/judge/each_count.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ripeline::verify {
namespace {

using What = CountAnswer::What;

struct Asked {
  std::vector<int> counts;
  CountAnswers answers;
  Finding finding;
};

// Each count's answer is a letter: s safe, o open, d open but safe for the dispatch, c stuck by
// other choices, r refuted. Counts beyond the letters are `s`.
Asked ask(const CountPlan& plan, const std::string& letters) {
  Asked asked;
  asked.answers = each_count(plan, [&](int m, bool fewest) -> CountAnswer {
    asked.counts.push_back(m);
    const auto i = static_cast<std::size_t>(m - plan.range.min);
    const Counterexample run{m, fewest, {}, {{}}};
    switch (i < letters.size() ? letters[i] : 's') {
      case 'o':
        return {What::open};
      case 'd':
        return {What::open, {}, true};
      case 'c':
        return {What::others, {.other_choices = run}};
      case 'r':
        return {What::settled, {.outcome = Outcome::refuted, .counterexample = run}};
      default:
        return {What::safe};
    }
  });
  asked.finding = by_counts(asked.answers, {.reason = "open"});
  return asked;
}

TEST(EachCount, all_counts_in_range_are_asked_and_safe) {
  const Asked asked = ask({.range = {2, 4}}, "");
  EXPECT_EQ(asked.counts, (std::vector{2, 3, 4}));
  EXPECT_EQ(asked.answers.safe, asked.counts);
  EXPECT_EQ(asked.finding.outcome, Outcome::proved);
}

TEST(EachCount, the_rest_is_open_beyond_the_most) {
  const Asked asked = ask({.range = {2, {}}, .most = 2}, "");
  EXPECT_EQ(asked.counts, (std::vector{2, 3}));
  EXPECT_EQ(asked.answers.open, 4);
  EXPECT_EQ(asked.finding.reason, "open");
  EXPECT_EQ(ask({.range = {2, 3}, .most = 2}, "").finding.outcome, Outcome::proved);
}

TEST(EachCount, a_range_with_an_end_is_asked_to_it_as_long_as_each_is_safe) {
  const auto counts = [](const CountPlan& plan, const std::string& letters) {
    return ask(plan, letters).counts.size();
  };
  EXPECT_EQ(counts({.range = {1, 9}, .most = 2, .to_the_end = true}, ""), 9U);
  EXPECT_EQ(counts({.range = {1, 9}, .most = 2, .to_the_end = true}, "sssso"), 5U);
  EXPECT_EQ(counts({.range = {1, 9}, .most = 3, .to_the_end = true}, "o"), 3U);
  EXPECT_EQ(counts({.range = {1, 9}, .most = 3, .to_the_end = true}, "sc"), 3U);
  EXPECT_EQ(counts({.range = {1, {}}, .most = 2, .to_the_end = true}, ""), 2U);
}

TEST(EachCount, nothing_is_asked_once_the_budget_is_spent) {
  const Budget spent{0};
  const Asked asked = ask({.range = {3, 5}, .budget = &spent}, "");
  EXPECT_TRUE(asked.counts.empty());
  EXPECT_EQ(asked.answers.open, 3);
}

TEST(EachCount, only_counts_in_question_are_asked) {
  const CountPlan plan{.range = {1, {}}, .in_question = [](int from) -> std::optional<int> {
                         if (from > 6) return std::nullopt;
                         return from + from % 2;
                       }};
  EXPECT_EQ(ask(plan, "").counts, (std::vector{2, 4, 6}));
}

TEST(EachCount, a_run_has_the_fewest_if_every_smaller_count_is_safe_under_the_dispatch) {
  const auto fewest = [](const std::string& letters) {
    const Finding found = ask({.range = {1, {}}}, letters).finding;
    EXPECT_EQ(found.outcome, Outcome::refuted) << letters;
    EXPECT_EQ(found.counterexample->microbatches, static_cast<int>(letters.size()));
    return found.counterexample->fewest;
  };
  EXPECT_TRUE(fewest("r"));
  EXPECT_TRUE(fewest("ssdr"));
  EXPECT_FALSE(fewest("sor"));
  EXPECT_FALSE(fewest("csr"));
}

TEST(EachCount, other_choices_are_those_of_the_fewest_microbatches) {
  const Asked asked = ask({.range = {1, 4}}, "sccs");
  EXPECT_EQ(asked.finding.outcome, Outcome::unknown);
  ASSERT_TRUE(asked.finding.other_choices.has_value());
  EXPECT_EQ(asked.finding.other_choices->microbatches, 2);
  EXPECT_EQ(asked.finding.method, Method::states);
}

}  // namespace
}  // namespace ripeline::verify
