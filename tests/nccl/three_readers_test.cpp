// Tests that the judge of fixed orders, a naive player of orders, and the fakes of CUDA and NCCL
// agree on which orders deadlock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "spec/elaborate.h"
#include "tests/nccl/wire_run.h"
#include "tests/support/environment_number.h"
#include "tests/wire/random_wire.h"
#include "tests/wire/wire_play.h"
#include "wire/layouts.h"

namespace ripeline::wire {
namespace {

using Kind = WireVerdict::Kind;
using testing_support::has_batch_of_several;
using testing_support::number_of;
using testing_support::run_wire;
using testing_support::WireRun;

constexpr WireLayout kLayouts[] = {WireLayout::group, WireLayout::pair, WireLayout::edge};
constexpr WireKernels kLevels[] = {WireKernels::per_stream, WireKernels::launch_order,
                                   WireKernels::serial};

// Counts over all layouts, levels and credits: `stuck` and `ended` if sends and receives match,
// else `mismatched`; `left_out` if a batch has several communicators.
struct Tally {
  int stuck = 0;
  int ended = 0;
  int mismatched = 0;
  int left_out = 0;
};

void expect_agreement(const WireProgram& program, std::uint64_t seed, Tally& tally) {
  for (const WireLayout layout : kLayouts) {
    for (const WireKernels kernels : kLevels) {
      for (int credits = 0; credits < 3; ++credits) {
        if (kernels != WireKernels::per_stream && has_batch_of_several(program, layout)) {
          ++tally.left_out;
          continue;
        }
        const WireOptions options{layout, kernels, credits, {}};
        const WireVerdict verdict = judge_wire(program, options);
        const WireRun run = run_wire(program, options, seed);
        if (verdict.kind == Kind::mismatch) {
          ASSERT_TRUE(!run.ended || !run.misuses.empty()) << verdict.sentence;
          ++tally.mismatched;
          continue;
        }
        WirePlay play(program, options);
        std::mt19937_64 random(seed);
        play.run(random);
        const std::string what = text_of(program) + name_of(layout) + " " + name_of(kernels) +
                                 " credits " + std::to_string(credits) + "\n" + verdict.sentence +
                                 "\n" + run.waits;
        ASSERT_EQ(name_of(verdict.kind), run.ended ? "safe" : "deadlock") << what;
        ASSERT_EQ(run.ended, play.done()) << what;
        ASSERT_TRUE(run.misuses.empty()) << run.misuses.front() << "\n" << what;
        ASSERT_EQ(run.ended, run.waits.empty()) << what;
        ++(run.ended ? tally.ended : tally.stuck);
      }
    }
  }
}

// Runs RIPELINE_WIRE_RUNS orders, with seeds from RIPELINE_WIRE_SEED on.
TEST(ThreeReaders, agree_on_random_orders) {
  const std::uint64_t first = number_of("RIPELINE_WIRE_SEED", 1);
  const std::uint64_t runs = number_of("RIPELINE_WIRE_RUNS", 500);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("RIPELINE_WIRE_SEED=" + std::to_string(seed) + " RIPELINE_WIRE_RUNS=1");
    RandomWire random(seed);
    const WireProgram program = random.program();
    if (judge_wire(program).kind == Kind::invalid) continue;
    expect_agreement(program, seed, tally);
    if (testing::Test::HasFailure()) return;
  }
  std::printf("%d that stick, %d that end, %d left out\n", tally.stuck, tally.ended,
              tally.left_out);
  if (runs < 500) return;
  EXPECT_GT(tally.stuck, tally.ended / 10);
  EXPECT_GT(tally.ended, tally.stuck / 10);
}

// An order of a chain as a PyTorch file, in which each task is drawn from those that may start
// then; half of the orders take the microbatches of an op in sequence.
std::string random_order(int ranks, int microbatches, std::mt19937_64& random) {
  const auto count = static_cast<std::size_t>(microbatches);
  std::vector<std::vector<int>> done(static_cast<std::size_t>(ranks), std::vector<int>(count));
  std::vector<std::string> rows(static_cast<std::size_t>(ranks));
  const bool in_turn = random() % 2 == 0;
  for (int left = 2 * ranks * microbatches; left > 0;) {
    const auto r = random() % static_cast<std::uint64_t>(ranks);
    const auto m = random() % count;
    const bool forward = done[r][m] == 0;
    const bool ready = forward ? r == 0 || done[r - 1][m] > 0
                               : done[r][m] == 1 && (r + 1 == done.size() || done[r + 1][m] == 2);
    const bool next = m == 0 || done[r][m - 1] > done[r][m];
    if (!ready || (in_turn && !next)) continue;
    ++done[r][m];
    rows[r] += (rows[r].empty() ? "" : ",") + std::to_string(r) + (forward ? "F" : "B") +
               std::to_string(m);
    --left;
  }
  std::string text;
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

spec::Program committed(int ranks, int microbatches, const std::string& csv) {
  spec::ElaborateOptions options;
  options.read_file = [&csv](const std::string&) { return csv; };
  const std::string text = "pipeline chain {\n  microbatches " + std::to_string(microbatches) +
                           ";\n  stages " + std::to_string(ranks) +
                           ";\n  place s on s;\n"
                           "  op F forward  { needs F at prev; }\n"
                           "  op B backward { needs F at here, B at next; }\n"
                           "  order drawn from csv \"drawn.csv\";\n"
                           "  dispatch in order drawn;\n}\n";
  return spec::compile({"chain.ripe", text}, options).value();
}

TEST(ThreeReaders, agree_on_committed_orders_of_tasks) {
  const std::uint64_t first = number_of("RIPELINE_WIRE_SEED", 1);
  const std::uint64_t runs = number_of("RIPELINE_WIRE_RUNS", 150);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("RIPELINE_WIRE_SEED=" + std::to_string(seed) + " RIPELINE_WIRE_RUNS=1");
    std::mt19937_64 random(seed);
    const int ranks = static_cast<int>(2 + random() % 3);
    const int microbatches = static_cast<int>(1 + random() % 4);
    const spec::Program program =
        committed(ranks, microbatches, random_order(ranks, microbatches, random));
    const LayoutTable table = judge_layouts(program);
    ASSERT_EQ(table.rows.size(), 18U) << table.problem.value_or("");
    for (const LayoutRow& row : table.rows) {
      const WireProgram wire = wire_program(program, microbatches, row.streams);
      const WireRun run = run_wire(wire, {row.layout, row.kernels, 0, {}}, seed);
      ASSERT_EQ(row.kind == Kind::safe, run.ended && run.misuses.empty()) << row.sentence << "\n"
                                                                          << run.waits;
    }
    for (const WireStreams streams : {WireStreams::one, WireStreams::apart}) {
      expect_agreement(wire_program(program, microbatches, streams), seed, tally);
    }
    if (testing::Test::HasFailure()) return;
  }
  std::printf("%d that stick, %d that end, %d mixed up\n", tally.stuck, tally.ended,
              tally.mismatched);
  if (runs < 100) return;
  EXPECT_GT(tally.stuck, tally.ended / 10);
  EXPECT_GT(tally.ended, tally.stuck / 10);
}

// NCCL has no tags, so a wrong message is received as the right one, and nothing hangs.
TEST(ThreeReaders, a_mismatch_is_seen_by_its_tags_alone) {
  const WireProgram program = wire_program({"s1:4 s1:5", "r0:5 r0:4"});
  EXPECT_EQ(judge_wire(program).kind, Kind::mismatch);
  const WireRun run = run_wire(program, {}, 1);
  EXPECT_TRUE(run.ended);
  ASSERT_EQ(run.misuses.size(), 2U);
  EXPECT_NE(run.misuses[0].find("expects 5 and is given 4"), std::string::npos) << run.misuses[0];
}

// The judge takes the kernels of a batch in the order of the list. NCCL launches them by a hash
// that is equal at all ranks, so that two ranks do not wait for each other crosswise.
TEST(ThreeReaders, differ_where_a_batch_has_several_communicators) {
  const WireProgram program = wire_program({"[ s1:0 r1:1 ]", "[ s0:1 r0:0 ]"});
  const WireOptions options{WireLayout::edge, WireKernels::serial, 0, {}};
  EXPECT_TRUE(has_batch_of_several(program, WireLayout::edge));
  EXPECT_EQ(judge_wire(program, options).kind, Kind::deadlock);
  EXPECT_TRUE(run_wire(program, options, 1).ended);
}

}  // namespace
}  // namespace ripeline::wire
