// Tests periodic_family(): for each microbatch count, the runs of its remainder, written out, are
// the order that expand() gives, and the verdict for all counts agrees with a run of each count.
#include "verify/order/periods.h"

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/support/verdicts.h"
#include "verify/order/order_run.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

using spec::Program;
using testing_support::compiled;
using testing_support::find;

Program with_order(int ranks, int chunks, const std::string& order,
                   const std::string& microbatches = "any", const std::string& capacity = "") {
  return compiled(
      fmt::format("pipeline p {{ microbatches {}; stages {} ; place s on s % {};\n"
                  "op F forward {{ needs F at prev; acquires a; }}\n"
                  "op B backward {{ needs F at here, B at next; releases a; }}\n"
                  "resource a per rank {{ {} }}\n"
                  "order o on r {{ {} }} dispatch in order o; }}",
                  microbatches, ranks * chunks, ranks, capacity, order));
}

std::string interleaved(int ranks, const std::string& warm) {
  return fmt::format(
      "stream f = for g in 0 ..< ceil(microbatches / {0}), c in 0 ..< chunks : F@c * {0};\n"
      "stream b = for g in 0 ..< ceil(microbatches / {0}), c in 0 ..< chunks : "
      "B@(chunks - 1 - c) * {0};\n"
      "let warm = min({1}, microbatches * chunks);\n"
      "f * warm; (f b) * (microbatches * chunks - warm); b * warm;",
      ranks, warm);
}

std::string deep(int ranks) {
  return interleaved(ranks, fmt::format("2 * ({0} - 1 - r) + (chunks - 1) * {0}", ranks));
}

// Expects that the runs, written out lane by lane, equal the result of expand().
void expect_same(const Program& program, int most) {
  const spec::Order& order = program.orders.at(0);
  const PeriodicFamily family = periodic_family(program, order);
  ASSERT_EQ(family.problem, "");
  ASSERT_EQ(family.orders.size(), static_cast<std::size_t>(family.period));
  int compared = 0;
  for (int m = 1; m <= most; ++m) {
    const PeriodicOrder& periodic = family.orders[static_cast<std::size_t>(m % family.period)];
    const std::int64_t q = m / family.period;
    if (q < periodic.first) continue;
    ++compared;
    for (int rank = 0; rank < program.ranks; ++rank) {
      std::vector<int> lanes;
      for (const PeriodicRun& run : periodic.ranks[static_cast<std::size_t>(rank)]) {
        const std::int64_t count = run.count.slope * q + run.count.base;
        ASSERT_GE(count, 0);
        for (std::int64_t i = 0; i < count; ++i) {
          lanes.insert(lanes.end(), run.lanes.begin(), run.lanes.end());
        }
      }
      const auto tasks = spec::expand(program, order, rank, m);
      ASSERT_TRUE(tasks.ok());
      std::vector<int> expected;
      for (const spec::Task& task : tasks.value()) expected.push_back(task.lane);
      EXPECT_EQ(lanes, expected) << m << " microbatches, rank " << rank;
    }
  }
  EXPECT_GT(compared, most / 2);
}

TEST(Periods, are_the_order_of_each_count) {
  for (const auto& [ranks, chunks] :
       {std::pair{1, 1}, {2, 1}, {2, 2}, {2, 3}, {3, 2}, {4, 2}, {4, 1}, {5, 3}}) {
    SCOPED_TRACE(fmt::format("{} ranks, {} chunks", ranks, chunks));
    expect_same(with_order(ranks, chunks, deep(ranks)), 60);
  }
}

TEST(Periods, are_the_orders_of_the_library) {
  for (const char* name : {"interleaved_1f1b", "zb_v", "v_half", "v_min"}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      SCOPED_TRACE(fmt::format("{} on {} ranks", name, ranks));
      const spec::Source source{name, spec::library_text(name).value_or("")};
      spec::ElaborateOptions options;
      options.defines["ranks"] = ranks;
      const auto program = spec::compile(source, options);
      ASSERT_TRUE(program.ok()) << spec::render(source, program.errors());
      expect_same(program.value(), 60);
    }
  }
}

TEST(Periods, follow_streams_of_many_shapes) {
  const char* const kOrders[] = {
      // The sizes of groups do not divide one another, and one stream gives two items per turn.
      "stream f = for g in 0 ..< microbatches, c in 0 .. 1 : F@c * 3;\n"
      "stream b = for g in 0 .. microbatches div 2, c in 0 .. 1 : B@(1 - c) * 2;\n"
      "f * 2; (f f b) * (microbatches - 1); b * (microbatches + 1);",
      // One lane after another, each with as many items as there are microbatches.
      "stream f = for c in 0 ..< chunks : F@c * microbatches;\n"
      "stream b = for m2 in 1 .. microbatches, c in 0 ..< chunks : B@(1 - c);\n"
      "(f b) * (2 * microbatches);",
      // One lane has more items than there are microbatches, the other has fewer.
      "stream f = for g in 0 ..< microbatches, c in 0 .. 1 : F@c * (c == 0 ? 4 : 1);\n"
      "f * (2 * microbatches); B@1 * microbatches; B@0 * microbatches;",
      // The stream has two parts in sequence, and groups whose lanes end at different microbatches.
      "stream f { (F@0 F@0 F@1) * 3; for g in 0 ..< microbatches { F@1; (F@0 F@1) * 2; } }\n"
      "f * (2 * microbatches); B@1 * microbatches; B@0 * microbatches;",
      // The complete order is from one stream.
      "stream all { F@0 * 3; for g in 0 .. 1, at in 0 .. 2 { F@1 * (at == r); F@0 * (at > g); }\n"
      "for g in 0 ..< microbatches { F@1; F@0; (B@1 B@0); } } all * (4 * microbatches);",
      // Some steps are not from the stream; a condition is constant only from 8 microbatches on.
      "stream f = for g in 0 ..< microbatches : F@0;\n"
      "let n = microbatches > 7 ? 3 : 0; f * n; (F@1 f) * (microbatches - n); F@1 * n;\n"
      "(B@1 B@0) * microbatches;",
      // Two streams have the same lanes, each for one rank; a stream lists nothing on a rank that
      // does not take from it.
      "stream a { for g in 0 ..< microbatches { F@0; F@1; } }\n"
      "stream b { F@0 * 2; for g in 0 ..< microbatches { F@1; F@0; } }\n"
      "rank 0 { a * (2 * microbatches); } rank 1 { b * (2 * microbatches); }\n"
      "(B@1 B@0) * microbatches;",
      // The same, but the count of each stream is 0 on the other rank.
      "stream a = for g in 0 ..< microbatches, c in 0 .. 1 : F@c;\n"
      "stream b = for c in 0 .. 1 : F@c * microbatches;\n"
      "a * (r == 0 ? 2 * microbatches : 0); b * (r == 1 ? 2 * microbatches : 0);\n"
      "(B@1 B@0) * microbatches;"};
  for (const char* order : kOrders) {
    SCOPED_TRACE(order);
    expect_same(with_order(2, 2, order), 60);
  }
}

struct NotPeriodic {
  const char* order;
  const char* problem;
};

TEST(Periods, say_why_there_are_none) {
  const NotPeriodic kCases[] = {
      {"stream f = for g in 0 ..< microbatches : F@(g % 2); f * 1;", "it depends on `g`"},
      {"stream f = for g in 0 ..< microbatches, h in 0 ..< microbatches : F@0; f * 1;",
       "a stream has as many items as the microbatches in each of as many turns"},
      {"stream f = for g in 0 ..< microbatches : F@0; F@0 * 1; f * (microbatches - 1);",
       "a lane comes from a stream and from elsewhere"},
      {"stream f = for g in 0 ..< microbatches : F@0; stream e = for g in 0 ..< microbatches : "
       "F@0;\n"
       "rank 0 { f * microbatches; } rank 1 { f * 1; e * (microbatches - 1); }",
       "a lane comes from a stream and from elsewhere"},
      {"stream f = for g in 0 ..< microbatches * microbatches : F@0; f * 1;",
       "it multiplies the microbatches by themselves"},
      {"stream f = for g in 0 ..< ceil(microbatches / 67) : F@0 * 67; f * 1;",
       "its remainder depends on the microbatches"}};
  for (const NotPeriodic& c : kCases) {
    const Program program = with_order(2, 2, c.order);
    EXPECT_EQ(periodic_family(program, program.orders.at(0)).problem, c.problem) << c.order;
  }
}

// Results of single counts: the least count for which the order deadlocks (or 0), and the peaks.
struct Counts {
  int sticks = 0;
  std::vector<std::int64_t> peaks;
};
Counts by_counts(const Program& program, int most) {
  Counts counts;
  counts.peaks.assign(program.pools.size(), 0);
  for (int m = 1; m <= most && counts.sticks == 0; ++m) {
    const OrderRunResult run = run_order(program, m, Slots::unbounded);
    if (!run.finished) counts.sticks = m;
    for (std::size_t p = 0; p < counts.peaks.size(); ++p) {
      counts.peaks[p] = std::max(counts.peaks[p], run.peaks[p]);
    }
  }
  return counts;
}

TEST(Periods, give_the_verdict_of_every_count) {
  struct Case {
    int ranks;
    int chunks;
    std::string warm;
    std::string capacity;
  };
  const Case kCases[] = {
      {2, 2, "2 * (1 - r) + (chunks - 1) * 2", ""},
      {3, 2, "2 * (2 - r) + (chunks - 1) * 3", ""},
      {2, 3, "2 * (1 - r) + (chunks - 1) * 2", ""},
      {2, 2, "(chunks - 1) * 2", ""},      // too few forwards ahead
      {3, 2, "(chunks - 1) * 3 + r", ""},  // more forwards ahead on later ranks
      {2, 2, "2 * (1 - r) + (chunks - 1) * 2", "capacity 4;"},
      {2, 2, "2 * (1 - r) + (chunks - 1) * 2", "capacity 5;"},
      {2, 2, "9", "capacity 9;"},
      {2, 2, "9", ""},
  };
  int stuck = 0;
  for (const Case& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", c.ranks, c.chunks, c.warm, c.capacity));
    const Program program =
        with_order(c.ranks, c.chunks, interleaved(c.ranks, c.warm), "any", c.capacity);
    const Counts counts = by_counts(program, 40);
    const Verdict verdict = verify(program);
    const Obligation& deadlock = find(verdict, "deadlock");
    EXPECT_EQ(find(verdict, "once").outcome, Outcome::proved);
    if (counts.sticks > 0) {
      ++stuck;
      ASSERT_EQ(deadlock.outcome, Outcome::refuted) << deadlock.reason;
      EXPECT_EQ(deadlock.counterexample->microbatches, counts.sticks);
    } else {
      ASSERT_EQ(deadlock.outcome, Outcome::proved) << deadlock.reason;
      EXPECT_EQ(deadlock.method, Method::cuts);
      std::vector<std::int64_t> peaks;
      for (const auto& peak : testing_support::peaks_of(verdict, "a")) {
        peaks.push_back(peak.value_or(-1));
      }
      EXPECT_EQ(peaks, counts.peaks);
    }
  }
  EXPECT_GT(stuck, 0);
  EXPECT_LT(stuck, 9);
}

// 1F1B in which each rank takes from its own stream.
std::string two_streams(const std::string& first, const std::string& capacity) {
  return fmt::format(R"(
pipeline two_streams {{
  microbatches any;
  stages 2;
  place s on s;
  op F forward  {{ needs F at prev;             acquires activation; }}
  op B backward {{ needs F at here, B at next;  releases activation; }}
  resource activation per stage {{ capacity {}; }}
  order o on r {{
    stream first {{ {} }}
    stream last {{ for m in 0 ..< microbatches {{ F; B; }} }}
    rank 0 {{ first * (2 * microbatches); }}
    rank 1 {{ last * (2 * microbatches); }}
  }}
  dispatch in order o;
}}
)",
                     capacity, first);
}

TEST(Periods, a_rank_may_leave_a_stream_to_others) {
  const std::string one_ahead = "F; for m in 0 ..< microbatches { F; B; } B;";
  const Verdict proved = verify(compiled(two_streams(one_ahead, "2")));
  EXPECT_EQ(proved.outcome, Outcome::proved);
  EXPECT_EQ(find(proved, "deadlock").method, Method::cuts);
  EXPECT_EQ(testing_support::peaks_of(proved, "activation"),
            (std::vector<std::optional<std::int64_t>>{2, 1}));
  const Obligation full = find(verify(compiled(two_streams(one_ahead, "1"))), "deadlock");
  EXPECT_EQ(full.outcome, Outcome::refuted);
  EXPECT_EQ(full.counterexample->microbatches, 2);
}

TEST(Periods, find_a_task_that_is_missing_for_some_remainder_only) {
  // Only complete groups of 3 are listed, so the other microbatches are missing.
  const Program program = with_order(
      1, 1,
      "stream f = for g in 0 .. microbatches div 3 : F * 3; f * (microbatches div 3 * 3);\n"
      "B * microbatches;");
  const Obligation once = find(verify(program), "once");
  EXPECT_EQ(once.outcome, Outcome::refuted);
  EXPECT_EQ(once.counterexample->microbatches, 1);
  EXPECT_EQ(once.reason, "0F0 is missing, with 1 microbatch.");
}

TEST(Periods, judge_a_few_counts_where_not_all_can_be) {
  const std::string body =
      "stream f = for g in 0 ..< microbatches : F@(g % 1); f * microbatches; B * microbatches;";
  const Obligation once = find(verify(with_order(1, 1, body)), "once");
  EXPECT_EQ(once.outcome, Outcome::unknown);
  EXPECT_EQ(once.reason,
            "For so many microbatch counts an order's counts must be linear in them: it depends on "
            "`g`. Each count from 1 to 64, judged by itself, was found to be safe.");
  EXPECT_EQ(find(verify(with_order(1, 1, body, "1 .. 100")), "once").outcome, Outcome::proved);
  const std::string wrong =
      "stream f = for g in 0 ..< microbatches : F@(g % 1); f * microbatches;\n"
      "B * min(microbatches, 9);";
  const Obligation refuted = find(verify(with_order(1, 1, wrong)), "once");
  EXPECT_EQ(refuted.outcome, Outcome::refuted);
  EXPECT_EQ(refuted.reason, "0B9 is missing, with 10 microbatches.");
}

}  // namespace
}  // namespace ripeline::verify
