// Tests tasks that overlap: the amount that they hold together is proved, exactly where possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "optimise/least_capacity.h"
#include "tests/support/verdicts.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing_support::compiled;
using testing_support::find;

std::string chain(const std::string& rest, const std::string& microbatches = "any",
                  const std::string& capacity = "") {
  return fmt::format(R"(pipeline p {{
    param ranks = 3;
    microbatches {};
    stages ranks;
    place s on s;
    op F forward {{ needs F at prev;  acquires a; }}
    op B backward {{ needs F at here, B at next;  releases a; }}
    resource a per stage {{ {} }}
    order one_f_one_b on r {{
      let warm = min(ranks - 1 - r, microbatches);
      F * warm;  (F B) * (microbatches - warm);  B * warm;
    }}
    hint bf {{ rounds B, F; }}
    {}
  }})",
                     microbatches, capacity, rest);
}

std::vector<std::optional<std::int64_t>> peaks(const Verdict& verdict) {
  return testing_support::peaks_of(verdict, "a");
}

TEST(Pairs, of_an_order_hold_what_the_one_before_has_not_released) {
  for (const char* microbatches : {"any", "8", "2 .. 9"}) {
    const Verdict alone = verify(compiled(chain("dispatch in order one_f_one_b;", microbatches)));
    EXPECT_THAT(peaks(alone), ElementsAre(3, 2, 1)) << microbatches;
    const Verdict verdict =
        verify(compiled(chain("pair F, B; dispatch in order one_f_one_b;", microbatches)));
    EXPECT_EQ(verdict.outcome, Outcome::proved) << microbatches;
    EXPECT_THAT(peaks(verdict), ElementsAre(4, 3, 2)) << microbatches;
    EXPECT_THAT(verdict.assumptions,
                Contains("A rank runs one task at a time, or a pair, and none waits inside for a "
                         "message."));
  }
}

TEST(Pairs, find_no_room_beside_each_other_where_there_is_none) {
  for (const char* dispatch : {"in order one_f_one_b", "ready by bf", "ready"}) {
    const Verdict verdict = verify(compiled(
        chain(fmt::format("pair F, B; dispatch {};", dispatch), "any", "capacity ranks - s;")));
    EXPECT_EQ(verdict.outcome, Outcome::proved) << dispatch;
    EXPECT_THAT(peaks(verdict), ElementsAre(3, 2, 1)) << dispatch;
  }
}

// Assertions that are true for one task at a time are false with pairs: they are refuted by a run,
// for one count and for all counts.
TEST(Pairs, break_assertions_that_hold_without_them) {
  for (const char* microbatches : {"any", "6"}) {
    const std::string rest = "dispatch in order one_f_one_b; assert peak a <= ranks - s;";
    EXPECT_EQ(verify(compiled(chain(rest, microbatches))).outcome, Outcome::proved);
    const Verdict verdict = verify(compiled(chain("pair F, B; " + rest, microbatches)));
    const Obligation& memory = find(verdict, "memory");
    ASSERT_EQ(memory.outcome, Outcome::refuted) << microbatches << " " << memory.reason;
    ASSERT_TRUE(memory.counterexample.has_value());
    // In the run, a task starts while the other task of its pair is running.
    int running = 0;
    int most = 0;
    for (const spec::Event& e : memory.counterexample->events) {
      if (e.what == spec::Event::Do::start && e.lane >= 4) most = std::max(most, ++running);
      if (e.what == spec::Event::Do::end && e.lane >= 4) --running;
    }
    EXPECT_EQ(most, 2);
    const std::string enough =
        "pair F, B; dispatch in order one_f_one_b; "
        "assert peak a <= ranks - s + 1;";
    EXPECT_EQ(verify(compiled(chain(enough, microbatches))).outcome, Outcome::proved);
  }
}

TEST(Pairs, are_judged_readiness_first_by_counts) {
  const std::string tight = "pair F, B; dispatch ready by bf; assert peak a <= 2;";
  EXPECT_EQ(verify(compiled(chain(tight, "any", "capacity 2;"))).outcome, Outcome::proved);
  // Both tasks of a pair hold some of one pool, so the pool's peak includes both amounts.
  const std::string text = R"(pipeline p { microbatches any; stages 1; place s on s;
    op F { acquires t; releases t; } op B { acquires t 2; releases t 2; } op C { acquires t 4; releases t 4; }
    resource t per stage { } pair F, B; pair B, C; dispatch ready; })";
  const Verdict verdict = verify(compiled(text));
  EXPECT_EQ(verdict.outcome, Outcome::proved);
  EXPECT_THAT(testing_support::peaks_of(verdict, "t"), ElementsAre(6));
}

// Each program deadlocks or breaks its bound only if the pair's tasks overlap, or only if they do
// not. The engine hands over the message of the task that ends first, and waits until it is taken.
TEST(Pairs, that_send_by_rendezvous_are_unknown) {
  const char* const texts[] = {
      R"(pipeline over { microbatches any; stages 3; place s on s;
        op A when s == 0 { } op B when s == 0 { }
        op C when s == 2 { needs Y at prev of m - 1; }
        op Z when s == 1 { needs C at next via inbox; }
        op X when s == 1 { needs A at prev via rendezvous; }
        op Y when s == 1 { needs B at prev via inbox; }
        channel inbox per stage { slots 1; }
        pair A, B;
        order o on r { (A B) * (r == 0 ? microbatches : 0);
          (Z X Y) * (r == 1 ? microbatches : 0);  C * (r == 2 ? microbatches : 0); }
        dispatch in order o; })",
      R"(pipeline engine { microbatches 1; stages 2; place s on s;
        op A when s == 0 { } op B when s == 0 { acquires p; }
        op C when s == 0 { needs B at here; releases p; }
        op O on copy_out when s == 0 { acquires p; releases p; needs T at next; }
        op T when s == 1 { }
        op Z when s == 1 { needs O at prev; }
        op X when s == 1 { needs A at prev via rendezvous; }
        resource p per stage { capacity 1; }
        pair A, B;
        order o on r { (A B C O) * (r == 0 ? microbatches : 0);
          (T Z X) * (r == 1 ? microbatches : 0); }
        dispatch in order o; })",
      R"(pipeline peaks { microbatches 1; stages 2; place s on s;
        op A when s == 0 { } op B when s == 0 { }
        op D when s == 0 { needs Y at next; acquires p 3; releases p 3; }
        op X when s == 1 { needs B at prev via rendezvous; }
        op Y when s == 1 { needs A at prev via rendezvous; }
        resource p per stage { }
        assert peak p <= 2;
        pair A, B;
        order o on r { (A B D) * (r == 0 ? microbatches : 0);
          (X Y) * (r == 1 ? microbatches : 0); }
        dispatch in order o; })"};
  for (const char* text : texts) {
    const Verdict verdict = verify(compiled(text));
    for (const Obligation& o : verdict.obligations) {
      EXPECT_EQ(o.outcome, Outcome::unknown) << name_of(o.kind);
      EXPECT_THAT(o.reason, testing::HasSubstr("`pair that sends by rendezvous`"));
    }
  }
}

TEST(Pairs, of_an_order_with_a_copy_engine_have_peaks) {
  const Verdict verdict = verify(compiled(R"(pipeline p {
    param ranks = 2; microbatches any; stages ranks; place s on s;
    op F forward { needs F at prev; acquires a; }
    op O on copy_out { needs F at here; acquires h; releases h; }
    op B backward { needs F at here, B at next; releases a; }
    resource a per stage { }  resource h per stage { }
    pair F, B;
    order o on r { let w = min(ranks - 1 - r, microbatches);
      (F O) * w; (F O B) * (microbatches - w); B * w; }
    dispatch in order o; })"));
  EXPECT_EQ(verdict.outcome, Outcome::proved);
  EXPECT_THAT(peaks(verdict), ElementsAre(3, 2));
  EXPECT_THAT(testing_support::peaks_of(verdict, "h"), ElementsAre(1, 1));
}

TEST(Pairs, need_no_more_than_one_task_at_a_time) {
  const optimise::LeastCapacity least = optimise::least_capacity(
      compiled(chain("pair F, B; dispatch in order one_f_one_b;", "any", "capacity 1;")), "a", {});
  EXPECT_EQ(least.outcome, Outcome::proved);
  EXPECT_THAT(least.each, ElementsAre(3, 2, 1));
}

}  // namespace
}  // namespace ripeline::verify
