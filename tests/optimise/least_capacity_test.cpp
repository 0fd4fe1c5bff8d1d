// Tests that the least capacities are the known ones and are safe, and that one less is unsafe.
#include "optimise/least_capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "tests/support/programs.h"
#include "tests/support/verdicts.h"

namespace ripeline::optimise {
namespace {

using spec::Program;
using testing_support::chain_text;
using testing_support::compiled;
using testing_support::v_text;
using Smaller = LeastCapacity::Smaller;
using Each = std::vector<std::int64_t>;

std::string inbox_text(const std::string& slots) {
  return "pipeline chain {\n  param ranks = 3;\n  microbatches any;\n  stages ranks;\n"
         "  place s on s;\n  channel inbox per stage { slots " +
         slots +
         "; }\n  op F forward { needs F at prev via inbox; acquires sends; }\n"
         "  op B backward { needs F at here, B at next via inbox; releases sends; }\n"
         "  resource sends per stage { capacity ranks - s; }\n  dispatch ready;\n}\n";
}

std::string join_text(const std::string& slots) {
  return "pipeline join {\n  microbatches any;\n  stages vision 1, text 1, llm 1;\n"
         "  edges vision -> llm, text -> llm;\n  place s on s;\n"
         "  op F forward sequential { needs F at prev via slots " +
         slots +
         "; acquires a; }\n  op B backward { needs F at here, B at next; releases a; }\n"
         "  resource a per stage { capacity 3; }\n  dispatch ready;\n}\n";
}

struct Case {
  std::string name;
  std::string text;
  std::string what;
  std::int64_t uniform;
  Smaller below_uniform;
  Each each;
  Smaller below_sum;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"1F1B: ranks - s, p(p+1)/2 in all",
       chain_text(4, "in order one_f_one_b"),
       "activation",
       4,
       Smaller::refuted,
       {4, 3, 2, 1},
       Smaller::refuted},
      {"1F1B, without a capacity",
       chain_text(5, "in order one_f_one_b", "any", ""),
       "activation",
       5,
       Smaller::refuted,
       {5, 4, 3, 2, 1},
       Smaller::refuted},
      {"1F1B, three microbatches",
       chain_text(4, "in order one_f_one_b", "3"),
       "activation",
       3,
       Smaller::refuted,
       {3, 3, 2, 1},
       Smaller::refuted},
      {"GPipe holds all",
       chain_text(2, "in order gpipe", "2 .. 5"),
       "activation",
       5,
       Smaller::refuted,
       {5, 5},
       Smaller::refuted},
      {"a chain that is ready",
       chain_text(4, "ready by bf"),
       "activation",
       1,
       Smaller::none,
       {1, 1, 1, 1},
       Smaller::none},
      {"a V with its reservation",
       v_text(3, true),
       "activation",
       2,
       Smaller::none,
       {2, 2, 2},
       Smaller::none},
      {"an inbox of both kinds",
       inbox_text("5"),
       "inbox",
       2,
       Smaller::refuted,
       {1, 2, 1},
       Smaller::refuted},
      {"links into a join", join_text("9"), "links", 3, Smaller::refuted, {3, 3}, Smaller::refuted},
      {"a resource called sends",
       inbox_text("2"),
       "sends",
       1,
       Smaller::none,
       {1, 1, 1},
       Smaller::none},
  };
  return kCases;
}

TEST(LeastCapacity, finds_known_ones) {
  for (const Case& c : cases()) {
    const LeastCapacity least = least_capacity(compiled(c.text), c.what);
    EXPECT_EQ(least.outcome, verify::Outcome::proved) << c.name << "\n" << least.reason;
    EXPECT_EQ(least.uniform, c.uniform) << c.name;
    EXPECT_EQ(least.below_uniform, c.below_uniform) << c.name;
    EXPECT_EQ(least.each, c.each) << c.name;
    EXPECT_EQ(least.below_sum, c.below_sum) << c.name;
    EXPECT_EQ(least.instances.size(), c.each.size()) << c.name;
  }
}

// This check shares no code with the search: it writes the capacities into the program.
TEST(LeastCapacity, is_proved_and_one_less_is_refuted) {
  for (const Case& c : cases()) {
    const Program program = compiled(c.text);
    const auto outcome_with = [&](const Each& each) {
      Program changed = program;
      std::size_t next = 0;
      for (spec::Pool& pool : changed.pools) {
        if (program.resources[static_cast<std::size_t>(pool.resource)].name == c.what) {
          pool.capacity = each[next++];
        }
      }
      for (spec::Inbox& inbox : changed.inboxes) {
        if (next < each.size() && (inbox.channel.empty() ? "links" : inbox.channel) == c.what) {
          inbox.slots = each[next++];
        }
      }
      EXPECT_EQ(next, each.size());
      return verify::verify(changed).outcome;
    };
    EXPECT_EQ(outcome_with(c.each), verify::Outcome::proved) << c.name;
    EXPECT_EQ(outcome_with(Each(c.each.size(), c.uniform)), verify::Outcome::proved) << c.name;
    if (c.below_sum != Smaller::refuted) continue;
    for (std::size_t i = 0; i < c.each.size(); ++i) {
      Each fewer = c.each;
      if (--fewer[i] == 0) continue;
      EXPECT_EQ(outcome_with(fewer), verify::Outcome::refuted) << c.name << " " << i;
    }
  }
}

TEST(LeastCapacity, says_when_none_is_proved) {
  const std::string text =
      "pipeline interleaved {\n  param ranks = 2;\n  microbatches any;\n  stages 2 * ranks;\n"
      "  place s on s % ranks;\n  op F forward { needs F at prev; acquires a; }\n"
      "  op B backward { needs F at here, B at next; releases a; }\n"
      "  resource a per rank { capacity 3; }\n  dispatch ready;\n}\n";
  const LeastCapacity greedy = least_capacity(compiled(text), "a");
  EXPECT_EQ(greedy.outcome, verify::Outcome::unknown);
  EXPECT_THAT(greedy.reason, testing::StartsWith("None was proved, of a 1 to "));
  EXPECT_THAT(greedy.reason, testing::HasSubstr("deadlock refuted, with"));
  const LeastCapacity waits =
      least_capacity(compiled(chain_text(2, "in order waits")), "activation");
  EXPECT_EQ(waits.outcome, verify::Outcome::unknown);
}

TEST(LeastCapacity, names_what_there_is) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(least_names(compiled(inbox_text("2"))), (Names{"sends", "inbox"}));
  EXPECT_EQ(least_names(compiled(join_text("2"))), (Names{"a", "links"}));
  EXPECT_EQ(least_names(compiled(v_text(2, true))), Names{"activation"});
}

}  // namespace
}  // namespace ripeline::optimise
