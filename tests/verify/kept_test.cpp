// Tests dispatch with room kept for the rest of an order: programs that are proved, and others.
#include <gtest/gtest.h>

#include <string>

#include "spec/elaborate.h"
#include "spec/indexing.h"
#include "tests/support/mistakes.h"
#include "tests/support/programs.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

// Two stages on each of two ranks. The order needs room for 5 on rank 0, and for 3 on rank 1.
std::string interleaved(const std::string& capacity, const std::string& dispatch,
                        const std::string& more = "") {
  return R"(
pipeline kept {
  param ranks = 2;  microbatches any;  stages 2 * ranks;  place s on s % ranks;
  op F forward { needs F at prev;  acquires a; }
  op B backward { needs F at here, B at next;  releases a; }
  resource a per rank { capacity )" +
         capacity + R"(; }
  order listed on r {
    stream f = for g in 0 ..< ceil(microbatches / ranks), c in 0 ..< chunks : F@c * ranks;
    stream b = for g in 0 ..< ceil(microbatches / ranks), c in 0 ..< chunks : B@(chunks - 1 - c) * ranks;
    let warm = min(2 * (ranks - 1 - r) + (chunks - 1) * ranks, microbatches * chunks);
    f * warm;  (f b) * (microbatches * chunks - warm);  b * warm;
  }
  hint bf { rounds B, F; }
  )" + more +
         "dispatch " + dispatch + ";\n}\n";
}

Verdict verdict_of(const std::string& text) {
  const spec::Source source{"kept.ripe", text};
  const auto program = spec::compile(source);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : spec::render(source, program.errors()));
  return program.ok() ? verify(program.value(), {}) : Verdict{};
}

const Obligation& of(const Verdict& verdict, const std::string& name) {
  for (const Obligation& o : verdict.obligations) {
    if (name_of(o.kind) == name) return o;
  }
  static const Obligation kNone;
  return kNone;
}

constexpr const char* kFits = "2 * (ranks - 1 - r) + (chunks - 1) * ranks + 1";

TEST(Kept, any_choice_is_safe_where_the_order_is) {
  for (const char* dispatch :
       {"ready keeping listed", "ready by listed keeping listed", "ready by bf keeping listed"}) {
    const Verdict verdict = verdict_of(interleaved(kFits, dispatch));
    EXPECT_EQ(verdict.outcome, Outcome::proved) << dispatch;
    ASSERT_TRUE(verdict.proved.has_value());
    EXPECT_EQ(verdict.proved->peaks()[0], 5);
    EXPECT_EQ(verdict.proved->peaks()[1], 3);
  }
}

TEST(Kept, without_it_the_same_choices_stick) {
  EXPECT_EQ(verdict_of(interleaved(kFits, "ready by listed")).outcome, Outcome::refuted);
  EXPECT_EQ(verdict_of(interleaved(kFits, "ready")).outcome, Outcome::refuted);
}

TEST(Kept, an_order_that_does_not_fit_proves_nothing) {
  const Verdict verdict =
      verdict_of(interleaved("2 * (ranks - 1 - r) + 2", "ready keeping listed"));
  EXPECT_EQ(of(verdict, "deadlock").outcome, Outcome::refuted) << of(verdict, "deadlock").reason;
}

// The cycle of waits includes the task for which room is kept.
TEST(Kept, a_run_that_sticks_says_for_what_room_is_kept) {
  const Verdict verdict = verdict_of(R"(
pipeline wrong {
  microbatches 2;  stages 4;  place s on s % 2;
  op F forward { needs F at prev;  acquires a; }
  op B backward { needs F at here, B at next;  releases a; }
  resource a per rank { capacity 2; }
  order late_first on r { F@1 * microbatches;  F@0 * microbatches;  (B@1 B@0) * microbatches; }
  dispatch ready keeping late_first;
})");
  EXPECT_EQ(of(verdict, "deadlock").outcome, Outcome::refuted);
  EXPECT_NE(of(verdict, "deadlock").reason.find("must leave room for"), std::string::npos)
      << of(verdict, "deadlock").reason;
}

TEST(Kept, a_bound_below_the_capacity_is_not_taken_on_trust) {
  const Verdict kept = verdict_of(
      interleaved(kFits, "ready keeping listed", "assert peak a <= 2 * (ranks - 1 - r) + 3;\n  "));
  EXPECT_EQ(kept.outcome, Outcome::proved);
  const Verdict less =
      verdict_of(interleaved(kFits, "ready keeping listed", "assert peak a <= 3;\n  "));
  EXPECT_EQ(of(less, "deadlock").outcome, Outcome::proved);
  EXPECT_EQ(of(less, "memory").outcome, Outcome::refuted);
}

// Two encoders can run ahead with different microbatches.
TEST(Kept, a_join_is_not_covered_by_the_order) {
  const auto join = spec::compile({"join.ripe", R"(
pipeline join {
  microbatches 4;
  stages vision 1, text 1, llm 1;  edges vision -> llm, text -> llm;  place s on s;
  op F forward  { needs F at prev;              acquires activation; }
  op B backward { needs F at here, B at next;   releases activation; }
  resource activation per stage { capacity 2; }
  hint bf { rounds B, F; }
  order ok on r { F * 2; (B F) * (microbatches - 2); B * 2; }
  dispatch ready by bf keeping ok;
})"});
  ASSERT_TRUE(join.ok());
  const Obligation deadlock = of(verify(join.value(), {}), "deadlock");
  EXPECT_EQ(deadlock.outcome, Outcome::unknown);
  EXPECT_TRUE(deadlock.other_choices.has_value());
  const Verdict trusting = testing_support::judged_with({.covers_all = true}, join.value(), {});
  EXPECT_EQ(of(trusting, "deadlock").outcome, Outcome::proved) << "else nothing was tested";
}

// The slots may be filled by messages that the order does not need next.
TEST(Kept, links_with_slots_are_judged_by_states) {
  std::string text = interleaved(kFits, "ready keeping listed");
  text.replace(text.find("needs F at prev"), 15, "needs F at prev via slots 1");
  text.replace(text.find("microbatches any"), 16, "microbatches 2");
  const Obligation deadlock = of(verdict_of(text), "deadlock");
  EXPECT_EQ(deadlock.method, Method::states);
  EXPECT_EQ(deadlock.outcome, Outcome::proved);
}

}  // namespace
}  // namespace ripeline::verify
