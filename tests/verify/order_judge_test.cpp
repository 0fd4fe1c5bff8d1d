// Tests committed orders: obligations may be judged in any order, and each run found is replayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "spec/elaborate.h"
#include "tests/oracle/oracle.h"
#include "tests/support/random_program.h"
#include "tests/support/verdicts.h"
#include "verify/order/order_judge.h"

namespace ripeline {
namespace {

using verify::Finding;
using verify::OrderJudge;
using verify::Outcome;

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

// Two engines acquire from one pool, so timing decides which of the tasks gets the room.
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
    const auto judge = [&] { return OrderJudge(program.value(), verify::VerifyOptions{}); };
    OrderJudge in_turn = judge();
    const Finding once = in_turn.once();
    const Finding deadlock = in_turn.deadlock();
    const verify::MemoryFinding memory = in_turn.memory();
    expect_equal(judge().deadlock(), deadlock);
    const verify::MemoryFinding first = judge().memory();
    expect_equal(first.finding, memory.finding);
    EXPECT_EQ(first.bounds, memory.bounds);
    OrderJudge backwards = judge();
    (void)backwards.memory();
    expect_equal(backwards.deadlock(), deadlock);
    expect_equal(backwards.once(), once);
  }
}

// --- each run that is found is replayed ---

// G needs two messages at the same time over one slot, so G never starts. The second H, which comes
// after G in the order, lacks room.
constexpr const char* kBehindOneSlot = R"(
pipeline behind {
  microbatches COUNT;
  stages 2;
  place s on s;
  op F forward { needs F at prev; }
  op B backward { needs F at here, B at next; }
  op G reduce once when s == 0 { needs B at here of all, B at next via LINK 1 of all; }
  op H when s == 0 { needs G at here of all; acquires gate; }
  op K when s == 0 { needs H at here; releases gate; }
  resource gate per stage { capacity 1; }
  order listed on r {
    F * microbatches;
    B * microbatches;
    G * (r == 0 ? 1 : 0);
    H * (r == 0 ? microbatches : 0);
    K * (r == 0 ? microbatches : 0);
  }
  dispatch in order listed;
}
)";

constexpr const char* kFromFile = R"(pipeline from_file {
  microbatches 3;
  stages 2;
  place s on s;
  op F forward { needs F at prev via LINK; acquires activation; }
  resource activation per stage { }
  order listed from csv "listed.csv";
  dispatch in order listed;
}
)";

spec::Program from_file(const std::string& link, const std::string& csv) {
  std::string text = kFromFile;
  text.replace(text.find("LINK"), 4, link);
  spec::ElaborateOptions options;
  options.read_file = [csv](const std::string&) { return csv; };
  return spec::compile({"p.ripe", text}, options).value();
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  text.replace(text.find(what), what.size(), by);
}

TEST(OrderJudge, lacking_room_behind_an_inbox_of_one_slot_is_refuted) {
  for (const char* const link : {"slots", "fifo"}) {
    for (const char* const count : {"2", "any", "2 .. 5"}) {
      SCOPED_TRACE(std::string(link) + ", " + count);
      std::string text = kBehindOneSlot;
      replace(text, "LINK", link);
      replace(text, "COUNT", count);
      const verify::Verdict verdict = verify::verify(spec::compile({"p.ripe", text}).value());
      const verify::Obligation& deadlock = verdict.obligations.front();
      ASSERT_EQ(deadlock.outcome, Outcome::refuted) << deadlock.reason;
      EXPECT_EQ(deadlock.counterexample->microbatches, 2);
      EXPECT_TRUE(deadlock.counterexample->fewest);
      const auto waits = deadlock.counterexample->waits;
      EXPECT_TRUE(std::any_of(waits.begin(), waits.end(), [](const verify::BlockedTask& wait) {
        return wait.text.find("a slot") != std::string::npos;
      }));
    }
  }
}

// Over a fifo, a message that is taken late occupies its slot, and no message overtakes it.
TEST(OrderJudge, a_fifo_that_is_taken_in_another_order_needs_just_the_slots_that_it_needs) {
  struct Row {
    std::string taken;
    int slots;  // the fewest slots that suffice
  };
  for (const Row& row : std::vector<Row>{{"1F0,1F1,1F2", 1},
                                         {"1F1,1F0,1F2", 2},
                                         {"1F0,1F2,1F1", 2},
                                         {"1F1,1F2,1F0", 2},
                                         {"1F2,1F0,1F1", 3},
                                         {"1F2,1F1,1F0", 3}}) {
    for (int slots = 1; slots <= 3; ++slots) {
      const spec::Program program =
          from_file("fifo " + std::to_string(slots), "0F0,0F1,0F2\n" + row.taken + "\n");
      const verify::Obligation deadlock = verify::verify(program).obligations.front();
      EXPECT_EQ(deadlock.outcome, slots < row.slots ? Outcome::refuted : Outcome::proved)
          << row.taken << " with " << slots << ": " << deadlock.reason;
    }
  }
}

// If the message of 1B1 takes the slot, 0B0 never gets its own. The order has 1B3 before 1B2.
TEST(OrderJudge, a_file_whose_inbox_timing_may_fill_is_refuted) {
  spec::ElaborateOptions options;
  options.read_file = [](const std::string&) {
    return std::string("0F0,0F1,0F2,0F3,0B0,0B1,0B3,0B2\n1F0,1B0,1F1,1B1,1F2,1F3,1B3,1B2\n");
  };
  const spec::Program program = spec::compile({"p.ripe", R"(pipeline from_file {
  microbatches 4;
  stages 2;
  place s on s;
  op F forward { needs F at prev; }
  op B backward { needs F at here, B at next via slots 1; }
  order listed from csv "listed.csv";
  dispatch in order listed;
}
)"},
                                              options)
                                    .value();
  const verify::Obligation deadlock = verify::verify(program).obligations.front();
  EXPECT_EQ(deadlock.outcome, Outcome::refuted) << deadlock.reason;
}

// Times prove all but the assertion, which count 6001 breaks; graphs check only the first counts.
TEST(OrderJudge, peaks_of_some_counts_prove_no_assertion_for_all) {
  const spec::Program program = testing_support::compiled(R"(
pipeline many { param ranks = 2; microbatches 5000 .. 1000000; stages ranks; place s on s;
  op F forward { needs F at prev; acquires activation; }
  op B backward { needs F at here, B at next; releases activation; }
  resource activation per stage { }
  order listed on r { stream f { F * microbatches; } f * microbatches; B * microbatches; }
  dispatch in order listed;
  assert peak activation <= 6000;
})");
  const verify::Verdict verdict = verify::verify(program);
  EXPECT_EQ(testing_support::find(verdict, "once").outcome, Outcome::proved);
  EXPECT_EQ(testing_support::find(verdict, "deadlock").outcome, Outcome::proved);
  const verify::Obligation& memory = testing_support::find(verdict, "memory");
  EXPECT_EQ(memory.outcome, Outcome::unknown);
  EXPECT_NE(memory.reason.find("Each count from 5000 to 5063"), std::string::npos) << memory.reason;
  EXPECT_TRUE(memory.peak.empty());
}

// 0F2 starts only after 0F1's message is taken, so after 1F0, which 0F2 does not need otherwise.
TEST(OrderJudge, a_broken_bound_behind_a_rendezvous_is_refuted) {
  spec::Program program = from_file("rendezvous", "0F0,0F1,0F2\n1F0,1F1,1F2\n");
  spec::Expr two;
  two.kind = spec::Expr::Kind::number;
  two.value = {2, 1};
  program.assertions.push_back({.resource = 0, .bound = two, .span = {}});
  const verify::Obligation memory =
      obligation(verify::verify(program), verify::ObligationKind::memory);
  ASSERT_EQ(memory.outcome, Outcome::refuted) << memory.reason;
  EXPECT_EQ(memory.counterexample->events.back().lane, program.lane_of(0, 0));
  EXPECT_EQ(memory.counterexample->events.back().microbatch, 2);
}

// Draws rows in which each task is after the tasks that it needs, if links have no effect; in some
// rows two neighbours are swapped. Returns false if there are no such rows.
bool list_at_random(spec::Program& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const int count = program.microbatches.min;
  std::vector<spec::Task> left;
  std::vector<std::vector<bool>> listed;
  for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane) {
    const int tasks = program.tasks_of(lane, count);
    for (int m = 0; m < tasks; ++m) left.push_back({lane, m});
    listed.emplace_back(static_cast<std::size_t>(tasks), false);
  }
  const auto is_listed = [&](int lane, int m) {
    return bool{listed[static_cast<std::size_t>(lane)][static_cast<std::size_t>(m)]};
  };
  const auto may_come = [&](const spec::Task& task) {
    const spec::Lane& lane = at(program.lanes, task.lane);
    if (lane.sequential && task.microbatch > 0 && !is_listed(task.lane, task.microbatch - 1)) {
      return false;
    }
    return std::all_of(lane.edges.begin(), lane.edges.end(), [&](int edge) {
      const spec::Edge& e = at(program.edges, edge);
      const auto [first, last] = program.needed(e, task.microbatch, count);
      for (int m = first; m < last; ++m) {
        if (!is_listed(e.producer, m)) return false;
      }
      return true;
    });
  };
  spec::Order& order = program.orders[static_cast<std::size_t>(program.dispatch.order)];
  order = {.name = order.name,
           .lets = {},
           .streams = {},
           .repeats = {},
           .file = "random.csv",
           .rows = std::vector<std::vector<spec::Task>>(static_cast<std::size_t>(program.ranks)),
           .span = order.span};
  while (!left.empty()) {
    std::vector<std::size_t> next;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (may_come(left[i])) next.push_back(i);
    }
    if (next.empty()) return false;
    const std::size_t i = next[random() % next.size()];
    const auto [lane, m] = left[i];
    listed[static_cast<std::size_t>(lane)][static_cast<std::size_t>(m)] = true;
    order.rows[static_cast<std::size_t>(at(program.lanes, lane).rank)].push_back(left[i]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::vector<spec::Task>& row = order.rows[random() % order.rows.size()];
  if (random() % 4 == 0 && row.size() > 1) std::swap(row[0], row[1]);
  return true;
}

void expect_no_defect(const verify::Verdict& verdict, const std::string& text) {
  for (const verify::Obligation& o : verdict.obligations) {
    EXPECT_EQ(o.reason.find("a defect of the verifier"), std::string::npos)
        << verify::name_of(o.kind) << ": " << o.reason << "\n"
        << text;
  }
}

constexpr std::uint64_t kSeeds = 900;

// Judges random programs; returns the number of programs that were judged.
int judge_at_random(const testing_support::RandomProgramOptions& options) {
  int judged = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string text = testing_support::random_program_text(seed, options);
    if (text.find("in order") == std::string::npos) continue;
    expect_no_defect(verify::verify(spec::compile({"p.ripe", text}).value()), text);
    ++judged;
  }
  return judged;
}

TEST(OrderJudge, replays_every_run_that_it_finds_of_random_programs) {
  constexpr int kEnough = static_cast<int>(kSeeds / 4);
  testing_support::RandomProgramOptions options;
  options.joins = false;
  options.links = true;
  EXPECT_GT(judge_at_random(options), kEnough);
  options.once = options.before = true;
  EXPECT_GT(judge_at_random(options), kEnough);
  options.engines = options.pairs = options.shares = true;
  EXPECT_GT(judge_at_random(options), kEnough);
}

// Files may list microbatches in any order, so links have the most effect here.
TEST(OrderJudge, agrees_with_every_state_of_random_orders_from_files) {
  testing_support::RandomProgramOptions options;
  options.max_tasks = 18;
  options.joins = options.any_count = options.streams = options.broken_orders = false;
  options.links = options.once = options.before = true;
  constexpr std::size_t kMostStates = 100'000;
  int proved = 0;
  int refuted = 0;
  for (std::uint64_t seed = 1; seed <= 8 * kSeeds; ++seed) {
    const std::string text = testing_support::random_program_text(seed, options);
    const bool linked = text.find("via") != std::string::npos;
    if (!linked || text.find("in order") == std::string::npos) continue;
    spec::Program program = spec::compile({"p.ripe", text}).value();
    if (!list_at_random(program, seed)) continue;
    const verify::Verdict verdict = verify::verify(program);
    expect_no_defect(verdict, text);
    const Outcome deadlock = verdict.obligations.front().outcome;
    EXPECT_NE(deadlock, Outcome::unknown) << verdict.obligations.front().reason;
    const oracle::Answer truth =
        oracle::explore(program, program.microbatches.min, oracle::Choices::any, kMostStates);
    if (!truth.complete) continue;
    EXPECT_EQ(deadlock == Outcome::refuted, truth.sticks) << seed << "\n" << text;
    proved += deadlock == Outcome::proved ? 1 : 0;
    refuted += deadlock == Outcome::refuted ? 1 : 0;
  }
  EXPECT_GT(proved, 50);
  EXPECT_GT(refuted, 50);
}

}  // namespace
}  // namespace ripeline
