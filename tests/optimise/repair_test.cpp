// Tests repairs: the text of each offered repair, and that the program is proved with the repair
// and not proved without it.
#include "optimise/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "tests/support/programs.h"
#include "tests/support/verdicts.h"
#include "verify/report.h"

namespace ripeline::optimise::repair_test {
namespace {

using spec::Program;
using testing_support::chain_of;
using testing_support::chain_text;
using testing_support::compiled;
using testing_support::join_via;
using testing_support::labels_text;
using testing_support::recompute_text;
using testing_support::v_text;
using verify::Verdict;

using Texts = std::vector<std::string>;

Repairs repairs_of(const std::string& text, const RepairOptions& limits = {}) {
  const Program program = compiled(text);
  const Verdict verdict = verify::verify(program);
  EXPECT_EQ(verdict.outcome, verify::Outcome::refuted) << text;
  return find_repairs({"test.ripe", text}, {}, program, verdict, limits);
}

Texts texts_of(const Repairs& repairs) {
  Texts texts;
  for (const verify::ProvedRepair& repair : repairs.proved) texts.push_back(repair.text);
  return texts;
}

// Two stages per rank, in a loop, share a pool of the rank.
std::string interleaved(const std::string& amount, const std::string& capacity,
                        const std::string& microbatches) {
  return "pipeline interleaved {\n  param ranks = 2;\n  microbatches " + microbatches +
         ";\n  stages 2 * ranks;\n  place s on s % ranks;\n"
         "  op F forward { needs F at prev; acquires a" +
         amount + "; }\n  op B backward { needs F at here, B at next; releases a" + amount +
         "; }\n  resource a per rank { capacity " + capacity +
         "; }\n  hint bf { rounds B, F; }\n  dispatch ready by bf;\n}\n";
}

struct Case {
  std::string name;
  std::string text;
  Texts repairs;
};

std::vector<Case> cases() {
  const std::string through_inbox =
      "  op F forward { needs F at prev via inbox; acquires a; }\n"
      "  op B backward { needs F at here, B at next via inbox; releases a; }\n";
  const std::string window_ops =
      "  op F forward { needs F at prev; acquires a; }\n"
      "  op B backward { needs F at here, B at next; releases a; }\n";
  return {
      {"a V placement without a reservation",
       v_text(4, false),
       {"`acquires activation leaving chunks - 1 - chunk` in op F"}},
      {"a pool that two chunks share",
       interleaved("", "ranks + 1", "any"),
       {"`acquires a leaving chunks - 1 - chunk` in op F"}},
      {"amounts",
       interleaved(" 3", "9", "any"),
       {"`acquires a 3 leaving 3 * (chunks - 1 - chunk)` in op F"}},
      {"few microbatches fit in the end",
       interleaved(" 3", "9", "4"),
       {"`acquires a 3 leaving 3 * (chunks - 1 - chunk)` in op F", "`capacity 15` of a"}},
      {"a capacity too small for the reservation",
       interleaved("", "1", "any"),
       {"`acquires a leaving chunks - 1 - chunk` in op F, and `capacity 2` of a"}},
      {"an inbox that fills with one kind",
       chain_of(through_inbox + "  channel inbox per stage { slots 1; }\n"),
       {"`slots 2` of channel inbox", "`via slots` instead of `via inbox` in op F and B"}},
      {"a vote whose members' slots hold different messages",
       chain_of("  op F forward { needs F at prev via inbox; acquires a; collectives 2; }\n"
                "  op B backward { needs F at here, B at next via inbox; releases a; "
                "collectives 2; }\n"
                "  tensor_parallel 2 { agree by vote; }\n  channel inbox per stage { slots 2; }\n"),
       {"`slots 4` of channel inbox", "`via slots` instead of `via inbox` in op F and B"}},
      {"an order that needs more room",
       chain_text(4, "in order one_f_one_b", "any", "2"),
       {"`capacity 4` of activation"}},
      {"a flush that needs room for all",
       chain_text(3, "in order gpipe", "6", "ranks - s"),
       {"`capacity ranks - s + 5` of activation"}},
      {"messages that overtake into a join",
       join_via("sequential", "via slots 2"),
       {"`needs F at prev via fifo 2` in op F", "`needs F at prev via slots 4` in op F"}},
      {"one slot too few",
       join_via("sequential", "via slots 3"),
       {"`needs F at prev via fifo 3` in op F", "`needs F at prev via slots 4` in op F"}},
      {"producers that overtake as well, so two changes",
       join_via("", "via slots 2"),
       {"`op F forward sequential`, and `needs F at prev via fifo 2` in op F",
        "`op F forward sequential`, and `needs F at prev via slots 4` in op F"}},
      {"an assertion that does not hold",
       chain_of(window_ops + "  assert peak a <= ranks - s - (s < 1 ? 1 : 0);\n"),
       {"`capacity ranks - s - (s < 1 ? 1 : 0)` of a",
        "`assert peak a <= ranks - s - (s < 1 ? 1 : 0) + 1`"}},
      {"an order that waits for itself", chain_text(2, "in order waits"), {}},
      {"forwards that leave no room for a recompute",
       recompute_text(""),
       {"`acquires memory 1 leaving 3` in op F"}},
      {"a hand-over that waits for what comes after it",
       labels_text(" via rendezvous"),
       {"`needs L at (0)` in op T, without `via rendezvous`",
        "`needs L at (0) via slots 3` in op T"}},
  };
}

TEST(Repair, offers_the_nearest_changes_that_are_proved) {
  for (const Case& c : cases()) {
    const Repairs repairs = repairs_of(c.text);
    EXPECT_EQ(texts_of(repairs), c.repairs) << c.name << "\n" << repairs.note;
    EXPECT_TRUE(repairs.proved.empty() || repairs.note.empty()) << repairs.note;
  }
}

TEST(Repair, what_is_offered_is_proved_when_it_is_written) {
  for (const Case& c : cases()) {
    for (const verify::ProvedRepair& repair : repairs_of(c.text).proved) {
      EXPECT_EQ(verify::verify(compiled(repair.program)).outcome, verify::Outcome::proved)
          << c.name << "\n"
          << repair.program;
      EXPECT_NE(repair.span, spec::Span{}) << c.name;
    }
  }
}

TEST(Repair, honours_its_limits_and_says_so) {
  const std::string text = v_text(3, false);
  EXPECT_THAT(repairs_of(text, {.most_lanes = 17}).note,
              testing::HasSubstr("18 lanes, more than 17"));
  EXPECT_EQ(repairs_of(text, {.most_repairs = 0}).proved.size(), 0U);
  EXPECT_THAT(repairs_of(chain_text(25, "in order one_f_one_b", "any", "2")).note,
              testing::HasSubstr("50 lanes, more than 48"));
  const Repairs none =
      repairs_of(chain_text(3, "in order gpipe", "6", "ranks - s"), {.most_judged = 1});
  EXPECT_TRUE(none.proved.empty());
  EXPECT_EQ(none.note, "No repair was proved, of 1 change tried.");
}

// Two encoders can run ahead of each other. The hint never deadlocks, but other choices do.
std::string encoders(const std::string& more = "") {
  return "pipeline join {\n  microbatches 4;\n  stages vision 1, text 1, llm 1;\n"
         "  edges vision -> llm, text -> llm;\n  place s on s;\n"
         "  op F forward { needs F at prev; acquires a; }\n"
         "  op B backward { needs F at here, B at next; releases a; }\n"
         "  resource a per stage { capacity 2; }\n  hint bf { rounds B, F; }\n" +
         more + "  dispatch ready by bf;\n}\n";
}

TEST(Repair, makes_a_program_proved_that_is_unknown) {
  const std::string text = encoders();
  const spec::Source source{"join.ripe", text};
  const Program program = compiled(text);
  Verdict verdict = verify::verify(program);
  ASSERT_EQ(verdict.outcome, verify::Outcome::unknown);
  Repairs repairs = find_repairs(source, {}, program, verdict);
  EXPECT_EQ(repairs.obligation, verify::ObligationKind::deadlock);
  EXPECT_EQ(texts_of(repairs), (Texts{"`op F forward sequential`", "`capacity 3` of a"}));
  for (const verify::ProvedRepair& repair : repairs.proved) {
    EXPECT_EQ(verify::verify(compiled(repair.program)).outcome, verify::Outcome::proved)
        << repair.program;
  }
  add_repairs(verdict, std::move(repairs));
  EXPECT_THAT(report_text(program, source, verdict),
              testing::HasSubstr("\nProved repair: `op F forward sequential`."));
  const auto json = report_json(program, source, verdict);
  EXPECT_EQ(json.at("obligations").at(0).at("verdict"), "unknown");
  EXPECT_EQ(json.at("obligations").at(0).at("repairs").at(0).at("what"), "sequential");
}

// No change can make an unsupported program supported.
TEST(Repair, is_not_searched_where_something_is_not_supported) {
  const std::string text =
      encoders("  pair F, B;\n  tensor_parallel 2 { agree by intersection; }\n");
  const Program program = compiled(text);
  const Verdict verdict = verify::verify(program);
  ASSERT_EQ(verdict.outcome, verify::Outcome::unknown);
  EXPECT_FALSE(find_repairs({"join.ripe", text}, {}, program, verdict).obligation);
}

TEST(Repair, there_is_none_of_what_is_proved) {
  const std::string text = v_text(2, true);
  const Program program = compiled(text);
  const Repairs repairs = find_repairs({"test.ripe", text}, {}, program, verify::verify(program));
  EXPECT_FALSE(repairs.obligation);
  EXPECT_TRUE(repairs.proved.empty());
}

TEST(Repair, keeps_the_options_that_the_program_was_made_with) {
  const std::string text = v_text(2, false);
  spec::ElaborateOptions options;
  options.defines = {{"ranks", 3}, {"microbatches", 7}};
  const auto program = spec::compile({"test.ripe", text}, options);
  ASSERT_TRUE(program.ok());
  const Repairs repairs =
      find_repairs({"test.ripe", text}, options, program.value(), verify::verify(program.value()));
  // A pool of 8 would suffice for 7 microbatches, but violates the assertion.
  EXPECT_EQ(texts_of(repairs), Texts{"`acquires activation leaving chunks - 1 - chunk` in op F"});
}

TEST(Repair, is_reported_with_its_place) {
  const std::string text = v_text(2, false);
  const spec::Source source{"v.ripe", text};
  const Program program = compiled(text);
  Verdict verdict = verify::verify(program);
  EXPECT_THAT(report_text(program, source, verdict), testing::Not(testing::HasSubstr("repair")));
  add_repairs(verdict, find_repairs(source, {}, program, verdict));
  EXPECT_THAT(report_text(program, source, verdict),
              testing::HasSubstr("\nProved repair: `acquires activation leaving chunks - 1 - "
                                 "chunk` in op F. v.ripe:6\n"));
  const auto json = report_json(program, source, verdict);
  const auto& repairs = json.at("obligations").at(0).at("repairs");
  ASSERT_EQ(repairs.size(), 1U);
  EXPECT_EQ(repairs[0].at("what"), "leaving");
  EXPECT_EQ(repairs[0].at("proved"), true);
  EXPECT_EQ(repairs[0].at("line"), 6);
}

}  // namespace
}  // namespace ripeline::optimise::repair_test
