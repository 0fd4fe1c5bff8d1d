// Tests lanes that have some microbatches only: verdicts for every count. Random programs in
// tests/compare check that such verdicts agree with the oracle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "certificates/certificate.h"
#include "certificates/recheck.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/support/programs.h"
#include "tests/support/verdicts.h"
#include "verify/report.h"
#include "verify/solver/share_terms.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

using spec::Program;
using spec::Share;
using testing::HasSubstr;
using testing_support::compiled;
using testing_support::find;

// A chain of 3 ranks with 1F1B's memory; it has F, B and these ops.
std::string beside(const std::string& ops, const std::string& more = "dispatch ready;",
                   const std::string& sequential = "") {
  return "pipeline p { param ranks = 3; microbatches any; stages ranks; place s on s;\n"
         "op F forward " +
         sequential + " { needs F at prev; acquires a; }\n op B backward " + sequential +
         " { needs F at here, B at next; releases a; }\n" + ops +
         "\nresource a per stage { capacity ranks - s; }\n" + more + " }";
}

constexpr const char* kOrder =
    "order o on r { let warm = min(ranks - 1 - r, microbatches);\n"
    "F * warm; (F B) * (microbatches - warm); B * warm; P * ceil(microbatches / 3); }\n"
    "dispatch in order o;";

struct Row {
  std::string name;
  std::string text;
  Outcome outcome;
  std::string method;  // the method for deadlock
};

TEST(Shares, are_judged_for_every_count) {
  const std::vector<Row> rows = {
      {"all alike",
       "pipeline p { microbatches any; stages 3; place s on s;\n"
       "op F forward on m where m % 3 != 1 { needs F at prev; acquires a; }\n"
       "op B backward on m where m % 3 != 1 { needs F at here, B at next; releases a; }"
       "resource a per stage { capacity 3 - s; } dispatch ready; }",
       Outcome::proved, "counters"},
      {"beside a chain", beside("op P on m where m % 3 == 0 { needs B at here; }"), Outcome::proved,
       "counters"},
      {"another beside it",
       beside("op P on m where m % 3 == 0 { needs B at here; }\n"
              "op Q on m where m % 2 == 1 { needs P at here, P at prev; }"),
       Outcome::proved, "counters"},
      {"needed in order",
       beside("op P sequential on m where m % 3 == 0 { needs B at here; }", "dispatch ready;",
              "sequential"),
       Outcome::proved, "counters"},
      {"in an order", beside("op P on m where m % 3 == 0 { needs B at here; }", kOrder),
       Outcome::proved, "cuts"},
      {"of the one before, in an order",
       beside("op P on m where m % 3 == 0 { needs B at here of m - 1, P at next; }", kOrder),
       Outcome::proved, "cuts"},
      {"over slots, in an order",
       beside("op P on m where m % 3 == 0 { needs B at next via slots 1; }", kOrder),
       Outcome::refuted, "cuts"},
      {"more than there are, in an order",
       beside("op P on m where m % 4 == 0 { needs B at here; }", kOrder), Outcome::refuted, ""},
      {"Chimera, any choice", std::string(*spec::library_text("chimera")), Outcome::proved, "cuts"},
  };
  for (const Row& row : rows) {
    const Verdict verdict = verify(compiled(row.text));
    const Obligation& deadlock = find(verdict, "deadlock");
    EXPECT_EQ(verdict.outcome, row.outcome) << row.name << ": " << deadlock.reason;
    if (row.method.empty()) continue;
    EXPECT_EQ(name_of(deadlock.method), row.method) << row.name;
  }
}

// A judge could easily overlook tasks that need nothing from a lane, and lanes without tasks.
TEST(Shares, that_stick_are_not_proved) {
  struct Stuck {
    const char* name;
    const char* ops;
    int fewest;
  };
  const Stuck rows[] = {
      {"the microbatch before, beside a share",
       "op P sequential { } op A sequential { acquires c; }"
       "op Q sequential on m where m % 2 == 0 { acquires c; releases c; }"
       "op L { needs Q at here, P at here of m - 1; }"
       "op R sequential { needs L at here, A at here; releases c; }",
       1},
      {"all of a producer, by way of a share",
       "op Y { acquires c; } op P { acquires c; releases c; }"
       "op Q on m where m % 2 == 1 { needs P at here of all; }"
       "op L { needs P at here, Q at here; } op Z { needs Y at here, L at here; releases c; }",
       1},
      {"by way of a lane without a task",
       "op P { acquires c; releases c; } op Z on m where m % 2 == 1 { needs P at here of all; }"
       "op Q { needs Z at here of all; } op W { }"
       "op L { needs Q at here, P at here, W at here; } op Y { acquires c; }"
       "op V { needs Y at here, L at here; releases c; }",
       1},
      {"within the numbers of a share",
       "op H on m where m % 4 == 0 { } op P { needs H at here of all; acquires c; }"
       "op Q { needs H at here of all; acquires d; }"
       "op L { needs P at here, Q at here; releases c; releases d; }"
       "resource d per stage { capacity 1; }",
       2},
  };
  for (const Stuck& row : rows) {
    const Verdict verdict = verify(compiled(std::string("pipeline p { microbatches any; stages 1; "
                                                        "place s on s;") +
                                            row.ops +
                                            "resource c per stage { capacity 1; } "
                                            "dispatch ready; }"));
    const Obligation& deadlock = find(verdict, "deadlock");
    EXPECT_NE(deadlock.outcome, Outcome::proved) << row.name;
    const auto& run = deadlock.counterexample ? deadlock.counterexample : deadlock.other_choices;
    ASSERT_TRUE(run) << row.name << ": " << deadlock.reason;
    EXPECT_EQ(run->microbatches, row.fewest) << row.name;
  }
}

// The cycle of a refutation uses only microbatches that both lanes have.
TEST(Shares, in_a_certificate) {
  const spec::Source source{"p.ripe", R"(pipeline p { microbatches 4; stages 2; place s on s;
    op C when s == 0 { needs B at next; }
    op A when s == 0 on m where m % 2 == 1 { }
    op B when s == 1 { needs A at prev; }
    order o on r {
      C@0 * (r == 0 ? microbatches : 0);  A@0 * (r == 0 ? 2 : 0);  B@0 * (r == 1 ? microbatches : 0);
    }
    dispatch in order o; })"};
  const Program program = compiled(source.text);
  const Verdict verdict = verify(program);
  EXPECT_EQ(find(verdict, "deadlock").outcome, Outcome::refuted);
  const auto nothing_to_ask = [](const std::vector<std::string>& texts) {
    EXPECT_TRUE(texts.empty());
    return std::vector<certificates::Reply>(texts.size());
  };
  const certificates::RecheckReport report = certificates::recheck(
      certificates::certificate_of(source, {}, program, verdict, "0"), nothing_to_ask, {});
  EXPECT_EQ(report.result, certificates::RecheckResult::accepted);
}

// The forwards of both copies take all the room. The run names microbatches by their numbers in the
// step, and can be read back.
TEST(Shares, are_named_by_their_microbatches) {
  std::string text(*spec::library_text("chimera"));
  const std::string in_order = "dispatch in order chimera;";
  text.replace(text.find(in_order), in_order.size(), "dispatch ready;");
  text.replace(text.find("ranks = 4"), 9, "ranks = 2");
  const Program program = compiled(text);
  const Verdict verdict = verify(program);
  const Obligation& deadlock = find(verdict, "deadlock");
  ASSERT_EQ(deadlock.outcome, Outcome::refuted) << deadlock.reason;
  EXPECT_EQ(deadlock.counterexample->microbatches, 4);
  const std::string report = report_text(program, {"p.ripe", text}, verdict);
  EXPECT_THAT(report, HasSubstr("0F0"));
  EXPECT_THAT(report, HasSubstr("0F2"));
  EXPECT_THAT(report, testing::Not(HasSubstr("0F1")));
  const nlohmann::json json = report_json(program, {"p.ripe", text}, verdict);
  const auto run = read_run(program, json.dump());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value().events, deadlock.counterexample->events);
}

// A program that counts cannot describe is unknown, with the reason, and so is not proved.
TEST(Shares, of_the_one_before_are_unknown_for_every_count) {
  const std::string text = beside("op P on m where m % 3 == 0 { needs B at here of m - 1; }");
  const Verdict verdict = verify(compiled(text));
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_THAT(find(verdict, "deadlock").reason,
              HasSubstr("0P needs 0B, which has other microbatches, of the one before; counts "
                        "cannot follow that."));
}

// For each number n, the solver's terms have the same values as the functions of Share.
TEST(Shares, are_counted_by_a_solver_as_by_themselves) {
  for (const Share& share : {Share{1, 1}, Share{2, 2}, Share{3, 5}, Share{7, 0x4a}}) {
    for (int n = 0; n < 20; ++n) {
      Solver solver(0);
      const Term at = solver.number(n);
      const int fewest = n == 0 ? 0 : share.microbatch(n - 1) + 1;
      const Term right =
          solver.all_of({below(solver, share, at) == solver.number(share.below(n)),
                         microbatch(solver, share, at) == solver.number(share.microbatch(n)),
                         reach(solver, share, at) == solver.number(fewest)});
      EXPECT_EQ(solver.check("some number differs", {!right}), Answer::unsat)
          << share.period << " " << share.remainders << " " << n;
    }
  }
  EXPECT_EQ(without({2, 1}, {3, 1}), (Share{6, 0x14}));
}

}  // namespace
}  // namespace ripeline::verify
