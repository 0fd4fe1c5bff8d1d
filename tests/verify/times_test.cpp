// Tests the times of a committed order. For the first values of q, each task has a later time than
// all tasks that it waits for, in every turn; and an order that has times never deadlocks.
#include "verify/order/times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "spec/elaborate.h"
#include "spec/indexing.h"
#include "spec/library.h"
#include "tests/support/random_program.h"
#include "tests/support/verdicts.h"
#include "verify/order/affine.h"
#include "verify/order/every_count.h"
#include "verify/order/order_judge.h"
#include "verify/order/order_run.h"

namespace ripeline::verify {
namespace {

using spec::Program;
using testing_support::compiled;

const spec::Order& order_of(const Program& program) {
  return at(program.orders, program.dispatch.order);
}

Program library(const std::string& name, std::int64_t ranks) {
  return spec::compile({name, spec::library_text(name).value()},
                       {.defines = {{"ranks", ranks}}, .dispatch = ""})
      .value();
}

std::vector<std::string> committed() {
  std::vector<std::string> names;
  for (const spec::LibraryEntry& entry : spec::library()) {
    if (library(std::string(entry.name), 4).dispatch.in_order) names.emplace_back(entry.name);
  }
  return names;
}

// One order for each remainder, from the least q at which it is valid.
std::vector<AffineOrder> affine_orders(const Program& program) {
  const PeriodicFamily family = periodic_family(program, order_of(program));
  std::vector<AffineOrder> orders;
  for (std::size_t remainder = 0; remainder < family.orders.size(); ++remainder) {
    const PeriodicOrder& order = family.orders[remainder];
    orders.push_back(affine_order(program, order,
                                  {family.period, static_cast<std::int64_t>(remainder)},
                                  {order.first, std::nullopt}));
  }
  return orders;
}

// A point in a rank's order, just before the step at position `place` in turn `turn` of a run.
struct Stop {
  int run = 0;
  int place = 0;
  std::int64_t turn = 0;
};

// The stops of each rank, in the order of its runs, for this q.
std::vector<std::vector<Stop>> stops_of(const Program& program, const AffineOrder& order,
                                        std::int64_t q) {
  std::vector<std::vector<Stop>> stops(static_cast<std::size_t>(program.ranks));
  for (int r = 0; r < size_of(order.runs); ++r) {
    const AffineRun& run = at(order.runs, r);
    for (std::int64_t turn = 0; turn < run.turns.slope * q + run.turns.base; ++turn) {
      for (int step = 0; step < run.steps; ++step) {
        at(stops, run.rank).push_back({r, run.first_position + step, turn});
      }
    }
  }
  return stops;
}

// Expects that each task is later than the previous task on its rank and than all tasks that it
// needs. Returns the number of comparisons.
int expect_later(const Program& program, const AffineOrder& order, const Waits& waits,
                 const std::vector<std::int64_t>& bases, std::int64_t q) {
  const auto microbatches =
      static_cast<int>(order.microbatches.slope * q + order.microbatches.base);
  std::vector<std::vector<Wide>> times(program.lanes.size());
  const auto stops = stops_of(program, order, q);
  int looked_at = 0;
  for (const auto& rank : stops) {
    std::optional<Wide> before;
    for (const Stop& stop : rank) {
      const Pace& pace = at(waits.paces, stop.run);
      const Wide time = at(bases, stop.place) + pace.turn * stop.turn + pace.slope * q;
      EXPECT_TRUE(!before || *before < time) << "q " << q << ", place " << stop.place;
      before = time;
      at(times, at(order.lanes, stop.place)).push_back(time);
      ++looked_at;
    }
  }
  for (const spec::Edge& edge : program.edges) {
    const auto& consumer = at(times, edge.consumer);
    for (int task = 0; task < size_of(consumer); ++task) {
      const auto [first, last] = program.needed(edge, task, microbatches);
      for (int m = first; m < last; ++m) {
        EXPECT_LT(at(at(times, edge.producer), m), at(consumer, task))
            << "q " << q << ", " << program.task_name(edge.consumer, task);
        ++looked_at;
      }
    }
  }
  return looked_at;
}

testing_support::RandomProgramOptions random_orders() {
  testing_support::RandomProgramOptions options;
  options.max_ranks = 4;
  options.once = options.before = options.shares = options.pairs = true;
  return options;
}

// Calls `look` with each program of the first `seeds` seeds that commits to an order.
template <class Look>
void for_random_orders(std::uint64_t seeds, const Look& look) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string text = testing_support::random_program_text(seed, random_orders());
    if (text.find("in order") == std::string::npos) continue;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    look(spec::compile({"p.ripe", text}).value());
  }
}

// Compares the times for the first values of q; returns the number of comparisons.
int look_at_times(const Program& program) {
  int looked_at = 0;
  for (const AffineOrder& order : affine_orders(program)) {
    if (order.too_large || !has_each_once(program, order)) continue;
    const auto waits = waits_of(program, order);
    if (!waits) continue;
    const auto bases = bases_for(order.lanes.size(), waits->edges);
    if (!bases) continue;
    for (std::int64_t q = order.range.first; q < order.range.first + 4; ++q) {
      looked_at += expect_later(program, order, *waits, *bases, q);
    }
  }
  return looked_at;
}

TEST(Times, each_task_is_later_than_all_that_it_waits_for) {
  for (const std::string& name : committed()) {
    SCOPED_TRACE(name);
    EXPECT_GT(look_at_times(library(name, 3)), 100);
    EXPECT_GT(look_at_times(library(name, 6)), 100);
  }
  int looked_at = 0;
  for_random_orders(1'500, [&](const Program& program) { looked_at += look_at_times(program); });
  EXPECT_GT(looked_at, 20'000);
}

TEST(Times, every_order_of_the_library_is_proved_by_them) {
  for (const std::string& name : committed()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8, 16}) {
      const auto found = prove_every_count(library(name, ranks));
      ASSERT_TRUE(found) << name << ", " << ranks << " ranks";
      EXPECT_TRUE(found->memory) << name << ", " << ranks << " ranks";
    }
  }
}

// For some count the order holds exactly the peak, so the peak is not only a bound.
TEST(Times, peaks_are_those_of_the_counts_themselves) {
  for (const std::string& name : committed()) {
    for (const int ranks : {2, 5}) {
      const Program program = library(name, ranks);
      const auto found = prove_every_count(program);
      ASSERT_TRUE(found);
      std::vector<std::int64_t> held(program.pools.size(), 0);
      for (int m = 1; m <= 8 * ranks; ++m) {
        const OrderRunResult graph = run_order(program, m, Slots::unbounded);
        for (std::size_t p = 0; p < held.size(); ++p) held[p] = std::max(held[p], graph.peaks[p]);
      }
      for (std::size_t p = 0; p < held.size(); ++p) {
        if (!found->bounds[p]) continue;
        EXPECT_EQ(*found->bounds[p], held[p]) << name << ", " << ranks;
      }
    }
  }
}

// Cuts are a second judge: they also prove each order that has times, and find the same peaks.
TEST(Times, cuts_prove_whatever_has_times) {
  int proved = 0;
  int open = 0;
  for_random_orders(5'000, [&](const Program& program) {
    const auto& range = program.microbatches;
    if (range.max == range.min) return;
    const auto found = prove_every_count(program);
    OrderJudge by_cuts(program, VerifyOptions{}, CutInput(program, [](Repeat&) {}));
    const Finding deadlock = by_cuts.deadlock();
    open += !found && deadlock.outcome == Outcome::proved ? 1 : 0;
    if (!found) return;
    ++proved;
    EXPECT_EQ(by_cuts.once().outcome, Outcome::proved);
    EXPECT_EQ(deadlock.outcome, Outcome::proved) << deadlock.reason;
    const MemoryFinding memory = by_cuts.memory();
    if (!found->memory) return;
    EXPECT_EQ(memory.finding.outcome, Outcome::proved) << memory.finding.reason;
    EXPECT_EQ(memory.bounds, found->bounds);
  });
  EXPECT_GT(proved, 80);
  EXPECT_LT(open, proved / 2);  // most orders need no cuts
}

std::vector<TimeEdge> without(std::vector<TimeEdge> edges, const std::vector<WaitKind>& kinds) {
  std::erase_if(edges, [&](const TimeEdge& edge) {
    return std::find(kinds.begin(), kinds.end(), edge.kind) != kinds.end();
  });
  return edges;
}

// An order that deadlocks by a cycle of waits.
struct Sticking {
  std::string name;
  std::string order;
  std::vector<WaitKind> others;  // kinds of waits that are not part of the cycle
  std::vector<WaitKind> kinds;   // kinds of waits that are part of every cycle
};

TEST(Times, an_order_that_sticks_has_none_unless_a_wait_is_forgotten) {
  const std::string ahead =  // rank 1 runs more forwards ahead than rank 0 allows
      "F * (r == 0 ? 1 : 0); (F B) * (r == 0 ? microbatches - 1 : 0); B * (r == 0 ? 1 : 0);\n"
      "F * (r == 0 ? 0 : 2); (F B) * (r == 0 ? 0 : microbatches - 2); B * (r == 0 ? 0 : 2);";
  const std::vector<Sticking> cases = {
      {"within a turn", "(B F) * microbatches;", {WaitKind::run}, {WaitKind::step, WaitKind::need}},
      {"from run to run",
       "B * 1; F * microbatches; B * (microbatches - 1);",
       {WaitKind::turn},
       {WaitKind::run, WaitKind::need}},
      {"from turn to turn",
       "B * 1; (F B) * (microbatches - 1); F * 1;",
       {WaitKind::run},
       {WaitKind::turn, WaitKind::need}},
      {"between ranks", ahead, {WaitKind::run}, {WaitKind::step, WaitKind::turn, WaitKind::need}},
  };
  for (const Sticking& c : cases) {
    SCOPED_TRACE(c.name);
    const Program program = compiled(
        "pipeline p { microbatches 3 .. 99999; stages 2; place s on s;\n"
        "op F forward { needs F at prev; }\n"
        "op B backward { needs F at here, B at next; }\n"
        "order o on r { " +
        c.order + " } dispatch in order o; }");
    EXPECT_FALSE(prove_every_count(program));
    EXPECT_EQ(verify(program).obligations.front().outcome, Outcome::refuted);
    for (const AffineOrder& order : affine_orders(program)) {
      ASSERT_TRUE(has_each_once(program, order));
      const auto waits = waits_of(program, order);
      ASSERT_TRUE(waits);
      const auto edges = without(waits->edges, c.others);
      EXPECT_FALSE(bases_for(order.lanes.size(), edges));
      for (const WaitKind kind : c.kinds) {
        EXPECT_TRUE(bases_for(order.lanes.size(), without(edges, {kind})))
            << static_cast<int>(kind);
      }
    }
  }
}

// If an order is wrong only for one count, or at one place of a lane, it is not proved.
TEST(Times, what_is_wrong_for_few_counts_is_not_proved) {
  const auto with = [](const std::string& more, const std::string& order) {
    return compiled(
        "pipeline p { microbatches any; stages 2; place s on s;\n"
        "op F forward { needs F at prev; acquires a; }\n"
        "op B backward { needs F at here, B at next; releases a; }\n"
        "resource a per rank { " +
        more + " }\norder o on r { " + order + " } dispatch in order o; }");
  };
  const std::string good =
      "let w = min(2 - r, microbatches); F * w; (B F) * (microbatches - w); B * w;";
  EXPECT_TRUE(prove_every_count(with("capacity 2;", good)));
  EXPECT_FALSE(prove_every_count(with("capacity 2 - r;", good + " F * (microbatches == 7);")));
  EXPECT_FALSE(prove_every_count(with("capacity 1;", good)));
  // All tasks are listed, but for 5 microbatches the order deadlocks.
  EXPECT_FALSE(
      prove_every_count(with("",
                             "let bad = microbatches == 5; let good = 1 - bad; "
                             "(B F) * (bad * 5); (F B) * (good == 1 ? microbatches : 0);")));
  // The amount held increases with the number of microbatches.
  EXPECT_FALSE(prove_every_count(with("capacity 1000;", "F * microbatches; B * microbatches;")));
  EXPECT_TRUE(prove_every_count(with("", "F * microbatches; B * microbatches;")));
}

// last_needed() evaluates Program::needed() at only three points; this test checks all others.
TEST(Times, the_last_task_that_is_needed_is_linear) {
  int looked_at = 0;
  for_random_orders(400, [&](const Program& program) {
    for (const AffineOrder& order : affine_orders(program)) {
      for (const spec::Edge& edge : program.edges) {
        const auto last = last_needed(program, order, edge);
        if (!last) continue;
        for (std::int64_t q = 1; q < 5; ++q) {
          const auto m = static_cast<int>(order.microbatches.slope * q + order.microbatches.base);
          for (int task = 0; task < program.tasks_of(edge.consumer, m); ++task) {
            const auto [first, end] = program.needed(edge, task, m);
            EXPECT_EQ(last->turn * task + last->slope * q + last->base, end - 1);
            ++looked_at;
          }
        }
      }
    }
  });
  EXPECT_GT(looked_at, 5'000);
}

TEST(Times, extremes_are_those_of_all_turns) {
  std::mt19937_64 random(7);
  const auto any = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  int reached = 0;
  for (int i = 0; i < 3'000; ++i) {
    const int first = any(0, 3);
    AffineOrder order{.range = {first, first + any(0, 5)}, .microbatches = {1, 0}};
    const AffineRun run{0, {any(-1, 3), any(-4, 4)}, 0, 1};
    const InTurn value{any(-3, 3), any(-3, 3), any(-9, 9)};
    std::optional<Wide> most;
    for (std::int64_t q = first; q <= *order.range.last; ++q) {
      for (std::int64_t t = 0; t < run.turns.slope * q + run.turns.base; ++t) {
        const Wide here = value.turn * t + value.slope * q + value.base;
        most = most ? std::max(*most, here) : here;
      }
    }
    const Extreme found = extreme(order, run, value);
    ASSERT_EQ(found.reached, most.has_value());
    if (!most) continue;
    EXPECT_TRUE(*found.most == *most);
    ++reached;
    // If the range has no end, `most` is not smaller, or nullopt if the value grows for ever.
    order.range.last.reset();
    const Extreme open = extreme(order, run, value);
    EXPECT_TRUE(!open.most || *open.most >= *most);
  }
  EXPECT_GT(reached, 1'000);
}

}  // namespace
}  // namespace ripeline::verify
