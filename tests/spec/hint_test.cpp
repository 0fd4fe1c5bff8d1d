// What a hint takes next, given what may start: tables.
#include "spec/hint.h"

#include <gtest/gtest.h>

#include "spec/elaborate.h"

namespace ripeline::spec {
namespace {

struct Row {
  const char* hint;
  // Ops that may start, one word for each choice; the answer is a letter each.
  const char* may_start;
  const char* taken;
};

// RRFP's rules (arXiv 2605.18750): one backward, then one forward, and again; of a split backward,
// W only when neither is ready, one in a round.
constexpr Row kRows[] = {
    {"rounds I, F;", "IF IF IF IF", "IFIF"},
    {"rounds I, F;", "IF I IF IF", "IIFI"},
    {"rounds F, I;", "IF IF F IF", "FIFI"},
    {"prefer I, F;", "IF F IF F", "IFIF"},
    {"prefer F, I;", "IF I IF I", "FIFI"},
    {"rounds I, F; fill W;", "IFW IFW IFW", "IFI"},
    // After W comes a new round, which begins with the backward again.
    {"rounds I, F; fill W;", "IFW W IFW IFW", "IWIF"},
    {"rounds I, F; fill W;", "IFW W FW IFW", "IWFI"},
    {"rounds I, F; fill W;", "W W IFW FW", "WWIF"},
    // An op that is neither an entry nor a fill leaves the round where it is.
    {"rounds I, F;", "IFW W IFW IFW", "IWFI"},
};

TEST(Hint, takes_what_its_rule_says) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.hint) + " of " + row.may_start);
    const auto program =
        compile({"hint", std::string("pipeline p { microbatches any; stages 1; place s on s;\n"
                                     "op F forward { } op I backward input { needs F at here; }\n"
                                     "op W backward weight { needs I at here; }\nhint h { ") +
                             row.hint + " } dispatch ready by h; }"});
    ASSERT_TRUE(program.ok());
    const HintPolicy policy(program.value(), 0, 8);
    HintPolicy::State state = policy.initial();
    std::string taken;
    std::string words = row.may_start;
    for (std::size_t begin = 0; begin < words.size(); begin = words.find(' ', begin) + 1) {
      const std::string word = words.substr(begin, words.find(' ', begin) - begin);
      const int lane = policy.choose(state, [&](int l) {
        return word.find(program.value().lane_name(l).back()) != word.npos;
      });
      ASSERT_GE(lane, 0);
      taken += program.value().lane_name(lane).back();
      policy.started(state, lane);
      if (words.find(' ', begin) == words.npos) break;
    }
    EXPECT_EQ(taken, row.taken);
  }
}

}  // namespace
}  // namespace ripeline::spec
