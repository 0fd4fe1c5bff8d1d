// Tests bounded links, joins, `once`, needs of other microbatches, and engines: a program per rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "tests/support/link_cases.h"
#include "tests/support/programs.h"
#include "tests/support/verdicts.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

using spec::Machine;
using spec::Program;
using testing_support::chain_of;
using testing_support::compiled;
using testing_support::find;
using testing_support::order_via;

// 1F1 waits for room that only 1W frees, but each I waits for all F of the last stage.
TEST(Links, a_join_with_the_microbatch_before_offers_no_more_than_there_are) {
  const Program program = compiled(R"(pipeline p {
  param ranks = 1;
  microbatches 2;
  stages 2;
  place s on 0;
  op F forward sequential { needs F at prev; acquires activation leaving 2; }
  op I backward input { needs F at here of all, I at next, F at here of m - 1; }
  op W backward weight sequential { needs I at here; releases activation; }
  resource activation per rank { capacity 5; }
  dispatch ready;
}
)");
  EXPECT_EQ(find(verify(program), "deadlock").outcome, Outcome::refuted);
}

// 1F0's message is taken when 0F1 is next. Before 0F1, 0B0 needs 1B0, which waits for that taking.
TEST(Links, a_rendezvous_with_another_microbatch_is_judged_count_by_count) {
  const std::string text = R"(pipeline p {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { needs F at prev, F at next via rendezvous of m - 1; }
  op B backward { needs F at here, B at next; }
  order listed on r { (F B) * microbatches; }
  dispatch in order listed;
}
)";
  EXPECT_NE(find(verify(compiled(text)), "deadlock").outcome, Outcome::proved);
}

// With one microbatch no message of the previous microbatch is needed, and the slot suffices.
TEST(Links, the_first_microbatch_takes_no_message_of_the_one_before) {
  for (const int microbatches : {1, 2}) {
    const Program program =
        compiled("pipeline p {\n  microbatches " + std::to_string(microbatches) + R"(;
  stages 2;
  place s on s;
  channel inbox per stage { slots 1; }
  op X { needs X at prev; }
  op C when s == 1 { needs X at prev via inbox, X at prev via inbox of m - 1; acquires a; }
  resource a per stage { }
  assert peak a <= 0;
  dispatch ready;
}
)");
    const Verdict verdict = verify(program);
    EXPECT_EQ(find(verdict, "deadlock").outcome,
              microbatches == 1 ? Outcome::proved : Outcome::refuted);
    EXPECT_EQ(find(verdict, "memory").outcome, Outcome::refuted);
  }
}

TEST(Links, verdicts_say_what_becomes_of_a_message_whose_receiver_is_not_ready) {
  const auto said = [](const std::string& link) {
    return verify(compiled(order_via(link, "any"))).assumptions.at(2);
  };
  EXPECT_NE(said("slots").find("no send waits"), std::string::npos);
  EXPECT_NE(said("slots 2").find("takes a slot"), std::string::npos);
  EXPECT_NE(said("rendezvous").find("sender's engine waits"), std::string::npos);
}

// All three messages are taken at the same time, but the slots have room for only two.
TEST(Links, of_all_over_a_fifo_needs_a_slot_for_each) {
  for (const char* const range : {"3", "any"}) {
    const Program program = compiled("pipeline p {\n  microbatches " + std::string(range) + R"(;
  stages 2;
  place s on s;
  op F forward { needs F at prev; }
  op G reduce once when s == 0 { needs F at here of all, F at next via fifo 2 of all; }
  order listed on r { F * microbatches;  G * (r == 0 ? 1 : 0); }
  dispatch in order listed;
}
)");
    EXPECT_EQ(find(verify(program), "deadlock").outcome, Outcome::refuted) << range;
  }
}

// With 4 microbatches there is too little room, but with only 2 there are too few slots.
TEST(Links, the_fewest_microbatches_are_those_of_whatever_sticks_first) {
  std::string text = testing_support::chain_text(3, "in order gpipe", "any", "3");
  const std::string need = "F at prev";
  text.replace(text.find(need), need.size(), need + " via slots 1");
  const Verdict verdict = verify(compiled(text));
  const Obligation& deadlock = find(verdict, "deadlock");
  ASSERT_EQ(deadlock.outcome, Outcome::refuted) << deadlock.reason;
  EXPECT_EQ(deadlock.counterexample->microbatches, 2);
  EXPECT_TRUE(deadlock.counterexample->fewest);
}

TEST(Links, have_the_verdicts_that_their_rules_say) {
  for (const testing_support::LinkCase& c : testing_support::link_cases()) {
    SCOPED_TRACE(c.name);
    const Program program = compiled(c.text);
    const Verdict verdict = verify(program);
    const Obligation& deadlock = find(verdict, "deadlock");
    EXPECT_EQ(deadlock.outcome, c.deadlock) << deadlock.reason;
    EXPECT_NE(deadlock.reason.find(c.reason), std::string::npos) << deadlock.reason;
    if (c.deadlock != Outcome::refuted || !deadlock.counterexample) continue;
    const Counterexample& example = *deadlock.counterexample;
    EXPECT_EQ(example.microbatches, c.fewest);
    EXPECT_TRUE(example.fewest);
    const Machine machine(program, example.microbatches);
    Machine::State state = machine.initial();
    for (const spec::Event& event : example.events) {
      ASSERT_TRUE(machine.is_enabled(state, event, Machine::Chooser::dispatch))
          << machine.describe(event);
      machine.step(state, event);
    }
    EXPECT_TRUE(machine.stuck(state));
  }
}

// Tasks on other engines count too: in `open`, both O (copy_out) and B (compute) may hold b.
TEST(Links, peaks_count_what_other_engines_still_hold) {
  const Program program = compiled(
      chain_of("  op F forward { needs F at prev; acquires a; }\n"
               "  op O offload on copy_out { needs F at here; releases a; }\n"
               "  op B backward { needs O at here, B at next; acquires b; releases b; }\n"
               "  op C forward when s == 0 { needs B at here of m - 1; acquires b; releases b; }\n"
               "  resource b per stage { }\n",
               "1"));
  const Verdict verdict = verify(program);
  const Obligation& memory = find(verdict, "memory");
  ASSERT_EQ(memory.outcome, Outcome::proved) << memory.reason;
  EXPECT_EQ(testing_support::peaks_of(verdict, "a"),
            (std::vector<std::optional<std::int64_t>>(4, 1)));
  EXPECT_EQ(testing_support::peaks_of(verdict, "b"),
            (std::vector<std::optional<std::int64_t>>(4, 1)));
  const Program open = compiled(chain_of(
      "  op F forward { needs F at prev; acquires a 2; }\n"
      "  op O offload on copy_out { needs F at here; releases a; acquires b; releases b; }\n"
      "  op P on copy_in { needs O at here; releases a; }\n"
      "  op B backward { needs P at here, B at next; acquires b; releases b; }\n"
      "  resource b per stage { }\n",
      "2"));
  const Verdict both = verify(open);
  EXPECT_EQ(testing_support::peaks_of(both, "b"), (std::vector<std::optional<std::int64_t>>(4, 2)));
}

}  // namespace
}  // namespace ripeline::verify
