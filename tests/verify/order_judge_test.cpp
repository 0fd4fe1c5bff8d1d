// Committed orders: what is asked first makes no difference, and a run that is found is replayed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "verify/judges.h"

namespace ripeline {
namespace {

using verify::Finding;
using verify::OrderJudge;

struct Case {
  std::string name;
  std::string text;
};

std::string order(const std::string& microbatches, const std::string& steps,
                  const std::string& more = "") {
  return "pipeline p { param ranks = 2; microbatches " + microbatches +
         "; stages ranks; place s on s;\n"
         "  op F forward { needs F at prev; acquires activation; }\n"
         "  op B backward { needs F at here, B at next; releases activation; }\n"
         "  resource activation per stage { capacity 2; }\n" +
         more + "  order listed on r { " + steps + " }\n  dispatch in order listed;\n}\n";
}

const std::vector<Case> kOrders = {
    {"proved by cuts", order("any", "F * 1; (F B) * (microbatches - 1); B * 1;")},
    {"proved by its graph", order("3", "F * 1; (F B) * (microbatches - 1); B * 1;")},
    {"sticks by cuts", order("any", "F * microbatches; B * microbatches;")},
    {"sticks in its graph", order("3", "F * microbatches; B * microbatches;")},
    {"a task too few", order("any", "(F B) * (microbatches - 1); F;")},
    {"a task too few of one count", order("3", "(F B) * (microbatches - 1); F;")},
    {"counts that are not linear", order("any", "(F B) * (microbatches * microbatches);")},
    {"a broken bound",
     order("any", "F * 1; (F B) * (microbatches - 1); B * 1;", "  assert peak activation <= 1;\n")},
};

// Two engines take from one pool, so timing decides what runs.
constexpr const char* kTiming = R"(
pipeline offload {
  microbatches 1 .. 2;
  stages 1;
  place s on 0;
  op F forward { acquires activation; }
  op O offload on copy_out { needs F at here; releases activation; }
  op L reload on copy_in { needs O at here; acquires activation; }
  op B backward { needs L at here; releases activation; }
  resource activation per rank { capacity 1; }
  order listed on r { F * microbatches; O * microbatches; L * microbatches; B * microbatches; }
  dispatch in order listed;
}
)";

void expect_equal(const Finding& one, const Finding& other) {
  EXPECT_EQ(one.outcome, other.outcome);
  EXPECT_EQ(one.method, other.method);
  EXPECT_EQ(one.reason, other.reason);
  ASSERT_EQ(one.counterexample.has_value(), other.counterexample.has_value());
  if (!one.counterexample) return;
  EXPECT_EQ(one.counterexample->microbatches, other.counterexample->microbatches);
  EXPECT_EQ(one.counterexample->events, other.counterexample->events);
}

TEST(OrderJudge, any_obligation_may_be_asked_first) {
  std::vector<Case> cases = kOrders;
  cases.push_back({"timing decides", kTiming});
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto program = spec::compile({"p.ripe", c.text});
    ASSERT_TRUE(program.ok()) << spec::render({"p.ripe", c.text}, program.errors());
    const auto judge = [&] {
      return OrderJudge(program.value(), verify::VerifyOptions{}, verify::Fault::none);
    };
    OrderJudge in_turn = judge();
    const Finding once = in_turn.once();
    const Finding deadlock = in_turn.deadlock();
    const verify::MemoryFinding memory = in_turn.memory();
    expect_equal(judge().deadlock(), deadlock);
    const verify::MemoryFinding first = judge().memory();
    expect_equal(first.finding, memory.finding);
    EXPECT_EQ(first.peaks, memory.peaks);
    OrderJudge backwards = judge();
    (void)backwards.memory();
    expect_equal(backwards.deadlock(), deadlock);
    expect_equal(backwards.once(), once);
  }
}

}  // namespace
}  // namespace ripeline
