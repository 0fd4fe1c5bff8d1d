// Tests small orders on the wire: the verdict for every layout and kernel level.
#include <gtest/gtest.h>

#include <algorithm>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/support/programs.h"
#include "tests/wire/wire_play.h"
#include "wire/layouts.h"
#include "wire/least_sends.h"
#include "wire/wire.h"

namespace ripeline::wire::wire_test {
namespace {

using Kind = WireVerdict::Kind;

struct Row {
  const char* what;
  std::vector<std::string> ranks;
  int groups;
  // Three letters (per stream, in launch order, serial) for each layout (group, pair, edge): s is
  // safe, d is deadlock.
  std::string expected;
  std::int64_t credits = 0;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"one message", {"F0 s1:0", "r0:0 F0"}, 0, "sss sss sss"},
      {"both send first", {"s1:0 r1:1", "s0:1 r0:0"}, 0, "ddd ddd ddd"},
      {"both send first, one credit", {"s1:0 r1:1", "s0:1 r0:0"}, 0, "sss sss sss", 1},
      {"both in one batch", {"[ s1:0 r1:1 ]", "[ s0:1 r0:0 ]"}, 0, "sss sss ssd"},
      {"both send first, streams apart", {"s1:0@- r1:1@-", "s0:1@- r0:0@-"}, 0, "ddd ddd ssd"},
      {"1F1B of two ranks, un-grouped",
       {"F0 s1:0 F1 s1:1 r1:10 B0 r1:11 B1", "r0:0 F0 B0 s0:10 r0:1 F1 B1 s0:11"},
       0,
       "ddd ddd ddd"},
      {"1F1B of two ranks, un-grouped, one credit",
       {"F0 s1:0 F1 s1:1 r1:10 B0 r1:11 B1", "r0:0 F0 B0 s0:10 r0:1 F1 B1 s0:11"},
       0,
       "sss sss sss",
       1},
      {"1F1B of two ranks, grouped",
       {"F0 s1:0 F1 [ s1:1 r1:10 ] B0 r1:11 B1", "r0:0 F0 B0 [ s0:10 r0:1 ] F1 B1 s0:11"},
       0,
       "sss sss ssd"},
      {"1F1B of two ranks, streams apart",
       {"F0 s1:0@-<F0 F1 s1:1@-<F1 r1:10@- B0<r1:10 r1:11@- B1<r1:11",
        "r0:0@- F0<r0:0 B0 s0:10@-<B0 r0:1@- F1<r0:1 B1 s0:11@-<B1"},
       0,
       "ddd ddd ssd"},
      {"pytorch#172668, one blocking stream",
       {"0F0 s1:0 0F1 s1:1 r1:20 2F0", "r0:0 1F0 s0:20 r0:1 1F1"},
       0,
       "ddd ddd ddd"},
      {"pytorch#172668, messages on streams of their own",
       {"0F0 s1:0@-<0F0 0F1 s1:1@-<0F1 r1:20@- 2F0<r1:20",
        "r0:0@- 1F0<r0:0 s0:20@-<1F0 r0:1@- 1F1<r0:1"},
       0,
       "ddd ddd ssd"},
      {"pytorch#195760, unrelated edges in one FIFO",
       {"s1:0@- s2:1@-", "r2:2@- r0:0@-", "r0:1@- s1:2@-"},
       0,
       "ddd ssd ssd"},
      {"Megatron#1810, two collectives on streams of their own, as issued elsewhere",
       {"c0:0@1 c1:0@2", "c1:0@2 c0:0@1"},
       2,
       "ssd ssd ssd"},
      {"Megatron#1810, two collectives on one stream",
       {"c0:0 c1:0", "c1:0 c0:0"},
       2,
       "ddd ddd ddd"},
      {"Megatron#1810, in launch order behind what they need",
       {"F0@0 c0:0@1<F0 c1:0@2<c0:0", "c1:0@2 F0@0<c1:0 c0:0@1<F0"},
       2,
       "ddd ddd ddd"},
      {"Megatron#5100, all of a ring of four send first",
       {"s1:0 r3:3", "s2:1 r0:0", "s3:2 r1:1", "s0:3 r2:2"},
       0,
       "ddd ddd ddd"},
      {"Megatron#5100, even ranks send first",
       {"s1:0 r3:3", "r0:0 s2:1", "s3:2 r1:1", "r2:2 s0:3"},
       0,
       "sss sss sss"},
      {"a launch that waits holds up the one that would help",
       {"r1:0@1 F0@0<r1:0 s1:1@2", "r0:1 s0:0"},
       0,
       "ddd ddd sdd"},
  };
  return kRows;
}

std::string letters(const WireProgram& program, std::int64_t credits) {
  std::string said;
  for (const WireLayout layout : {WireLayout::group, WireLayout::pair, WireLayout::edge}) {
    if (!said.empty()) said += ' ';
    for (const WireKernels kernels :
         {WireKernels::per_stream, WireKernels::launch_order, WireKernels::serial}) {
      const WireOptions options{layout, kernels, credits};
      const WireVerdict verdict = judge_wire(program, options);
      said += name_of(verdict.kind)[0];
      std::mt19937_64 random(1);
      WirePlay play(program, options);
      play.run(random);
      EXPECT_EQ(play.done(), verdict.kind == Kind::safe) << verdict.sentence;
    }
  }
  return said;
}

TEST(Wire, verdicts_of_layouts_and_kernels) {
  for (const Row& row : rows()) {
    EXPECT_EQ(letters(wire_program(row.ranks, row.groups), row.credits), row.expected) << row.what;
  }
}

TEST(Wire, what_is_wrong_before_any_graph) {
  struct Wrong {
    std::vector<std::string> ranks;
    std::string kind;
    std::string sentence;
  };
  const std::vector<Wrong> table = {
      {{"s1:0 s1:1", "r0:1 r0:0"},
       "mismatch",
       "The 1st message from rank 0 to rank 1 is sent by s1:0 and taken by r0:1, which expects "
       "another."},
      {{"s1:0 s1:1", "r0:0"},
       "unpaired",
       "s1:1 of rank 0 has no receive: rank 0 has 2 sends of messages from rank 0 to rank 1, rank "
       "1 has 1 receive."},
      {{"F0", "r0:0"},
       "unpaired",
       "r0:0 of rank 1 has no send: rank 0 has 0 sends of messages from rank 0 to rank 1, rank 1 "
       "has 1 receive."},
      {{"s1:0 s1:1 s1:2", "r0:0 r0:2"},
       "mismatch",
       "The 2nd message from rank 0 to rank 1 is sent by s1:1 and taken by r0:2, which expects "
       "another."},
      {{"c0:0 c0:1", "c0:1 c0:0"},
       "mismatch",
       "The 1st collective of group g0 is c0:0 of rank 0 and c0:1 of rank 1."},
      {{"c0:0", "F0"},
       "unpaired",
       "Rank 1 has no part in the 1st collective of group g0, c0:0 of rank 0."},
      {{"s0:0", "F0"}, "invalid", "s0:0 of rank 0 has rank 0 for a peer."},
      {{"s7:0", "F0"}, "invalid", "s7:0 of rank 0 has rank 7 for a peer."},
      {{"c3:0", "F0"}, "invalid", "c3:0 of rank 0 is of no group."},
      {{"F0@2000", "F0"}, "invalid", "F0 of rank 0 has stream 2000."},
      {{"[ F0 F1 ]", ""}, "invalid", "F0 of rank 0 is no communication, but in a batch."},
      {{"[ s1:0 s1:1<s1:0 ]", "r0:0 r0:1"},
       "invalid",
       "s1:1 of rank 0 waits for something that does not come before it."},
  };
  for (const Wrong& row : table) {
    const WireVerdict verdict = judge_wire(wire_program(row.ranks, 1));
    EXPECT_EQ(name_of(verdict.kind), row.kind) << row.sentence;
    EXPECT_EQ(verdict.sentence, row.sentence);
  }
  EXPECT_EQ(judge_wire(wire_program({"F0"}), {.credits = -1}).kind, Kind::invalid);
}

TEST(Wire, a_deadlock_names_its_circle) {
  const WireVerdict verdict = judge_wire(wire_program({"s1:0 r1:1", "s0:1 r0:0"}));
  ASSERT_EQ(verdict.kind, Kind::deadlock);
  EXPECT_EQ(verdict.cycle.size(), 4U);
  EXPECT_EQ(verdict.sentence,
            "s1:0 of rank 0 waits for r0:0 of rank 1 to be posted; that waits for s0:1 of rank 1, "
            "before it on its stream; that waits for r1:1 of rank 0 to be posted; that waits for "
            "s1:0 of rank 0, before it on its stream: a circle.");
}

spec::Program chain(int ranks, const std::string& order, const std::string& microbatches = "any",
                    const std::string& capacity = "ranks - s") {
  return spec::compile({"chain.ripe", testing_support::chain_text(ranks, "in order " + order,
                                                                  microbatches, capacity)})
      .value();
}

TEST(Layouts, one_f_one_b_needs_a_communicator_per_edge_and_streams_that_overlap) {
  for (const int ranks : {2, 3, 5}) {
    const LayoutTable table = judge_layouts(chain(ranks, "one_f_one_b"));
    EXPECT_EQ(table.problem, std::nullopt);
    EXPECT_EQ(table.counts.min, 1);
    EXPECT_EQ(table.counts.max, 2 * ranks + 1);
    EXPECT_FALSE(table.counts.all);
    ASSERT_EQ(table.rows.size(), 18U);
    for (const LayoutRow& row : table.rows) {
      const bool safe = row.streams == WireStreams::apart && row.layout == WireLayout::edge &&
                        row.kernels != WireKernels::serial;
      EXPECT_EQ(row.kind, safe ? Kind::safe : Kind::deadlock)
          << ranks << name_of(row.streams) << name_of(row.layout) << name_of(row.kernels);
      EXPECT_EQ(row.microbatches, safe ? 0 : 2);
      EXPECT_EQ(row.sentence.empty(), safe);
    }
  }
}

TEST(Layouts, gpipe_is_safe_in_all) {
  const LayoutTable table = judge_layouts(chain(4, "gpipe", "1 .. 6", "100"));
  EXPECT_EQ(table.rows.size(), 18U) << table.problem.value_or("");
  for (const LayoutRow& row : table.rows) EXPECT_EQ(row.kind, Kind::safe) << row.sentence;
}

TEST(Layouts, the_table_says_for_which_counts) {
  const LayoutTable table = judge_layouts(chain(4, "one_f_one_b", "3 .. 5"));
  EXPECT_EQ(table.counts.min, 3);
  EXPECT_EQ(table.counts.max, 5);
  EXPECT_TRUE(table.counts.all);
}

TEST(Layouts, what_cannot_be_judged_says_why) {
  const auto ready = spec::compile({"chain.ripe", testing_support::chain_text(3, "ready by bf")});
  EXPECT_EQ(judge_layouts(ready.value()).problem.value_or("").substr(0, 66),
            "Sends and receives have a fixed order only with `dispatch in order");
  const LayoutTable sticks = judge_layouts(chain(3, "waits"));
  EXPECT_TRUE(sticks.rows.empty());
  ASSERT_TRUE(sticks.problem.has_value());
  EXPECT_NE(sticks.problem->find("the order deadlocks even where no send waits"), std::string::npos)
      << *sticks.problem;
  EXPECT_EQ(least_sends(ready.value()).outcome, verify::Outcome::unknown);
  // The lowering ignores links, so there is no claim about programs with bounded links.
  std::string bounded = testing_support::chain_text(3, "in order one_f_one_b");
  const std::string need = "needs F at prev";
  bounded.replace(bounded.find(need), need.size(), need + " via fifo 1");
  EXPECT_EQ(judge_layouts(spec::compile({"chain.ripe", bounded}).value()).problem,
            "`link fifo` is not supported here.");
}

TEST(LeastSends, of_one_f_one_b_is_one_less_than_its_ranks) {
  for (const int ranks : {2, 3, 4, 8}) {
    const spec::Program program = chain(ranks, "one_f_one_b");
    const LeastSends least = least_sends(program);
    ASSERT_EQ(least.outcome, verify::Outcome::proved) << least.reason;
    EXPECT_EQ(least.sum, ranks - 1);
    EXPECT_EQ(least.uniform, 1);
    std::int64_t sum = 0;
    for (const auto& [channel, credits] : least.credits) sum += credits;
    EXPECT_EQ(sum, least.sum);
    const WireProgram wire = wire_program(program, 2 * ranks + 1, WireStreams::one);
    EXPECT_EQ(judge_wire(wire, {.channel_credits = least.credits}).kind, Kind::safe);
    EXPECT_EQ(judge_wire(wire, {.credits = 1}).kind, Kind::safe);
    EXPECT_EQ(judge_wire(wire).kind, Kind::deadlock);
  }
}

// eager_1f1b needs two credits on some channels; any choice of them with the least sum is correct.
TEST(LeastSends, agrees_with_trying_all) {
  const auto schedule = [](const char* name) {
    const spec::Source source{name, spec::library_text(name).value()};
    return spec::compile(source, {.defines = {{"ranks", 3}, {"microbatches", 5}}, .dispatch = ""})
        .value();
  };
  for (const char* name : {"1f1b", "eager_1f1b", "gpipe"}) {
    const spec::Program program = schedule(name);
    const LeastSends least = least_sends(program);
    ASSERT_EQ(least.outcome, verify::Outcome::proved) << least.reason;
    EXPECT_TRUE(least.counts.all);
    const WireProgram wire = wire_program(program, 5, WireStreams::one);
    std::int64_t fewest = 100;
    for (int all = 0; all < 256; ++all) {
      const std::map<WireChannel, std::int64_t> credits = {
          {{0, 1}, all % 4}, {{1, 2}, all / 4 % 4}, {{2, 1}, all / 16 % 4}, {{1, 0}, all / 64}};
      if (judge_wire(wire, {.channel_credits = credits}).kind != Kind::safe) continue;
      std::int64_t sum = 0;
      for (const auto& [channel, amount] : credits) sum += amount;
      fewest = std::min(fewest, sum);
    }
    EXPECT_EQ(least.sum, fewest) << name;
    EXPECT_EQ(judge_wire(wire, {.channel_credits = least.credits}).kind, Kind::safe);
  }
}

}  // namespace
}  // namespace ripeline::wire::wire_test
