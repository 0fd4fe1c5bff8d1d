// Tests that an order is found without a solver if one exists and, in a small step, nearly always
// the best one. The test compares with a walk through every order that shares nothing with the
// search. `leaving` counts against the capacity; an assertion limits the amount held.
#include "optimise/search/first_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "optimise/certified.h"
#include "optimise/search/search.h"
#include "spec/elaborate.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise::first_order_test {
namespace {

struct TinyOp {
  std::string head;            // name and kind
  std::vector<int> here = {};  // ops of its own stage that it needs
  int next = -1;               // the op of the next stage that it needs
  int prev = -1;               // the op of the previous stage that it needs
  std::int64_t cost = 1;
  std::int64_t acquires = 0;
  std::int64_t leaving = 0;
  std::int64_t releases = 0;
};
// A chain, with one pool for each stage.
struct TinyChain {
  int stages = 1;
  int microbatches = 1;
  std::int64_t capacity = 1;
  std::int64_t asserted = 1;
  std::vector<TinyOp> ops;
};

std::string name_of(const TinyOp& op) { return op.head.substr(0, 1); }

std::string text_of(const TinyChain& chain) {
  std::string ops;
  for (const TinyOp& op : chain.ops) {
    std::string needs;
    const auto add = [&](int other, const char* where) {
      if (other < 0) return;
      needs += fmt::format("{}{} at {}", needs.empty() ? "needs " : ", ",
                           name_of(chain.ops[static_cast<std::size_t>(other)]), where);
    };
    for (const int other : op.here) add(other, "here");
    add(op.next, "next");
    add(op.prev, "prev");
    ops += fmt::format("op {} {{ cost {}; {}; ", op.head, op.cost, needs);
    if (op.acquires > 0) ops += fmt::format("acquires a {} leaving {}; ", op.acquires, op.leaving);
    if (op.releases > 0) ops += fmt::format("releases a {}; ", op.releases);
    ops += "} ";
  }
  return fmt::format(
      "pipeline p {{ microbatches {}; stages {}; place s on s; {}resource a per stage {{ capacity "
      "{}; }} assert peak a <= {}; dispatch ready; }}",
      chain.microbatches, chain.stages, ops, chain.capacity, chain.asserted);
}

// A chain with F, its backward (whole or split), and an op that acquires room only for itself.
TinyChain tiny_chain(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  TinyChain chain{.stages = between(1, 2), .ops = {}};
  chain.microbatches = between(1, chain.stages == 1 ? 4 : 2);
  const std::int64_t taken = between(1, 3);
  const bool is_split = between(0, 2) == 0;
  chain.ops.push_back(
      {.head = "F forward", .prev = 0, .acquires = taken, .leaving = between(0, 2)});
  const int user = between(0, 2) > 0 ? 1 : -1;
  if (user > 0) {
    const std::int64_t own = between(1, 2);
    chain.ops.push_back({.head = "P user \"p\"",
                         .here = {0},
                         .acquires = own,
                         .leaving = between(0, 1),
                         .releases = own});
  }
  const int first = static_cast<int>(chain.ops.size());
  const std::int64_t early = is_split ? between(0, static_cast<int>(taken)) : taken;
  chain.ops.push_back({.head = is_split ? "I backward input" : "B backward",
                       .here = {0},
                       .next = first,
                       .releases = early});
  if (user > 0 && between(0, 2) == 0) chain.ops.back().here.push_back(user);
  if (is_split) {
    chain.ops.push_back({.head = "W backward weight", .here = {first}, .releases = taken - early});
  }
  for (TinyOp& op : chain.ops) op.cost = between(1, 4);
  chain.capacity = between(1, 7);
  chain.asserted = between(1, static_cast<int>(chain.capacity) + 1);
  return chain;
}

// Tries every order by appending one task after another to its stage's row. Among states with the
// same tasks, it drops each state whose ends are all no earlier than those of another state.
class EveryRow {
 public:
  explicit EveryRow(const TinyChain& chain)
      : c_(chain), ops_(static_cast<int>(chain.ops.size())), lanes_(ops_ * chain.stages) {}

  std::optional<std::int64_t> least_makespan() {
    const auto lanes = static_cast<std::size_t>(lanes_);
    std::map<std::vector<int>, std::vector<Ends>> layer;
    layer[std::vector<int>(lanes, 0)] = {
        Ends(static_cast<std::size_t>(c_.stages + lanes_ * c_.microbatches), 0)};
    for (int done = 0; done < lanes_ * c_.microbatches; ++done) {
      std::map<std::vector<int>, std::vector<Ends>> longer;
      for (const auto& [counts, all] : layer) {
        for (int lane = 0; lane < lanes_; ++lane) append(counts, all, lane, longer);
      }
      layer = std::move(longer);
    }
    std::optional<std::int64_t> least;
    for (const auto& [counts, all] : layer) {
      for (const Ends& ends : all) {
        const std::int64_t makespan = *std::max_element(ends.begin(), ends.begin() + c_.stages);
        least = std::min(least.value_or(makespan), makespan);
      }
    }
    return least;
  }

 private:
  using Ends = std::vector<std::int64_t>;  // per stage, then per task

  [[nodiscard]] std::size_t task(int lane, int microbatch) const {
    return static_cast<std::size_t>(c_.stages + lane * c_.microbatches + microbatch);
  }
  [[nodiscard]] const TinyOp& op(int lane) const {
    return c_.ops[static_cast<std::size_t>(lane % ops_)];
  }
  [[nodiscard]] std::vector<int> needs(int lane) const {
    const int stage = lane / ops_;
    std::vector<int> all;
    for (const int other : op(lane).here) all.push_back(stage * ops_ + other);
    if (op(lane).next >= 0 && stage + 1 < c_.stages)
      all.push_back(lane - lane % ops_ + ops_ + op(lane).next);
    if (op(lane).prev >= 0 && stage > 0) all.push_back(lane - lane % ops_ - ops_ + op(lane).prev);
    return all;
  }

  // Sets to 0 the ends for which no task has to wait any more.
  void forget(const std::vector<int>& counts, Ends& ends) const {
    Ends needed(ends.size(), 0);
    for (int lane = 0; lane < lanes_; ++lane) {
      for (const int need : needs(lane)) {
        for (int m = counts[static_cast<std::size_t>(lane)]; m < c_.microbatches; ++m) {
          needed[task(need, m)] = 1;
        }
      }
    }
    for (std::size_t i = task(0, 0); i < ends.size(); ++i) ends[i] *= needed[i];
  }

  void append(const std::vector<int>& counts, const std::vector<Ends>& all, int lane,
              std::map<std::vector<int>, std::vector<Ends>>& longer) const {
    const auto count = [&](int of) { return counts[static_cast<std::size_t>(of)]; };
    const int microbatch = count(lane);
    if (microbatch == c_.microbatches) return;
    const int stage = lane / ops_;
    std::int64_t held = 0;
    for (int other = stage * ops_; other < (stage + 1) * ops_; ++other) {
      held += count(other) * (op(other).acquires - op(other).releases);
    }
    held += op(lane).acquires;
    const bool fits = held + op(lane).leaving <= c_.capacity && held <= c_.asserted;
    if (op(lane).acquires > 0 && !fits) return;
    for (const int need : needs(lane)) {
      if (count(need) <= microbatch) return;
    }
    std::vector<int> more = counts;
    ++more[static_cast<std::size_t>(lane)];
    std::vector<Ends>& kept = longer[more];
    for (Ends ends : all) {
      std::int64_t start = ends[static_cast<std::size_t>(stage)];
      for (const int need : needs(lane)) start = std::max(start, ends[task(need, microbatch)]);
      ends[static_cast<std::size_t>(stage)] = ends[task(lane, microbatch)] = start + op(lane).cost;
      forget(more, ends);
      const auto as_early = [](const Ends& a, const Ends& b) {
        return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
      };
      if (std::any_of(kept.begin(), kept.end(),
                      [&](const Ends& other) { return as_early(other, ends); })) {
        continue;
      }
      std::erase_if(kept, [&](const Ends& other) { return as_early(ends, other); });
      kept.push_back(std::move(ends));
    }
  }

  const TinyChain& c_;
  int ops_;
  int lanes_;
};

// Searches until an order takes at most `enough`; returns the best order, or nullopt.
std::optional<TimedOrder> best_of(const Problem& problem, Time enough) {
  constexpr int kSteps = 2100;  // suffices for all rules, and some moves
  std::optional<TimedOrder> best;
  int steps = kSteps;
  search(problem, enough, {.go_on = [&] { return --steps >= 0; }},
         [&](const TimedOrder& order, std::string_view) { best = order; });
  return best;
}

TEST(FirstOrder, is_found_wherever_there_is_one) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t cases = setting("RIPELINE_CASES", 400);
  int with = 0;
  int without = 0;
  int optimal = 0;
  int not_one_by_one = 0;
  for (std::uint64_t i = 0; i < cases && !HasFailure(); ++i) {
    const TinyChain chain = tiny_chain(seed + i);
    const spec::Source source{"tiny.ripe", text_of(chain)};
    SCOPED_TRACE(fmt::format("RIPELINE_SEED={} RIPELINE_CASES=1\n{}", seed + i, source.text));
    auto program = spec::compile(source);
    if (!program.ok()) {  // the program has a task that never finds room
      EXPECT_FALSE(EveryRow(chain).least_makespan());
      continue;
    }
    const auto problem =
        Problem::make(std::move(program).value(), chain.microbatches, {}, Objective::makespan);
    ASSERT_TRUE(problem.ok());
    const Problem& p = *problem.value();
    const auto least = EveryRow(chain).least_makespan();
    EXPECT_EQ(first_order(p.model()).has_value(), least.has_value());
    const auto best = best_of(p, least.value_or(0) * kUnit);
    ASSERT_EQ(best.has_value(), least.has_value());
    ++(least ? with : without);
    if (!least) continue;
    EXPECT_GE(best->makespan, *least * kUnit);
    optimal += best->makespan == *least * kUnit ? 1 : 0;
    const auto made = certified(
        {.problem = p, .source = source, .read_file = {}, .bound = p.bound(), .order = *best}, {});
    EXPECT_TRUE(made.ok()) << made.errors().front().message;
    const bool holds_more = std::any_of(chain.ops.begin(), chain.ops.end(), [&](const TinyOp& op) {
      return op.head[0] == 'P' && op.acquires + chain.ops.front().acquires > chain.asserted;
    });
    not_one_by_one += holds_more ? 1 : 0;
  }
  if (cases < 400 || HasFailure()) return;
  EXPECT_GT(with, 100);
  EXPECT_GT(100 * optimal, 97 * with);
  EXPECT_GT(without, 50);
  EXPECT_GT(not_one_by_one, 10);
}

// P finds no room while F's room is held, and only B releases F's room.
TEST(FirstOrder, passes_over_what_finds_no_room) {
  const Posed made = posed(
      "pipeline p { microbatches any; stages 2; place s on s; op F forward { cost 2; needs F at "
      "prev; acquires a 2 leaving 1; } op P user \"p\" { cost 0.5; needs F at here; acquires a; "
      "releases a; } op B backward { cost 3; needs F at here, B at next; releases a 2; } resource "
      "a "
      "per stage { capacity 3; } assert peak a <= 2; dispatch ready; }",
      2, 0);
  const auto best = best_of(*made.problem, 21 * kUnit);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->makespan, 21 * kUnit);
}

}  // namespace
}  // namespace ripeline::optimise::first_order_test
