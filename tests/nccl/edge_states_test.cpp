// Visits all runs of small chains over edges of NCCL: with the rules of
// runtime/cuda/carriers/nccl_end.h no run deadlocks, and without any single rule some run does.
//
// RIPELINE_EDGE_SIZE="ranks,microbatches,extra" makes the test also visit a chain of that size,
// with the rules; at most RIPELINE_EDGE_STATES of its states are visited.
#include "tests/nccl/edge_states.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "spec/elaborate.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/support/environment_number.h"
#include "tests/support/programs.h"
#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::testing_support {
namespace {

constexpr std::int64_t kMostStates = 100'000;
constexpr std::int64_t kMostStatesOfRandom = 1'000;

struct EdgeSize {
  int ranks = 2;
  int microbatches = 2;
  int extra = 0;  // forwards that a rank may be ahead beyond 1F1B's
};

// A chain in which any task that may start is chosen.
spec::Program chain_of(const EdgeSize& size) {
  const std::string text = chain_text(size.ranks, "ready by bf", std::to_string(size.microbatches),
                                      "ranks - s + " + std::to_string(size.extra));
  return spec::compile({"chain.ripe", text}).value();
}

EdgeStates visit(const EdgeSize& size, const EdgeRules& rules,
                 std::int64_t most_states = kMostStates) {
  const spec::Program program = chain_of(size);
  return visit_edge_states(spec::Machine(program, size.microbatches), rules, most_states);
}

class EdgeStatesTest : public testing::Test {
 protected:
  void TearDown() override { fake_gpu::begin({}); }
};

std::string text_of(const EdgeStates& found) {
  std::string text = std::to_string(found.states) + " states\n";
  for (const std::string& event : found.run) text += "  " + event + "\n";
  return text + found.wrong + "\n" + found.waits;
}

// A visit, with the recorded number of states; another number shows that the visit has changed.
struct Kept {
  const char* what;
  EdgeSize size;
  EdgeRules rules;
  std::int64_t states;
};

TEST_F(EdgeStatesTest, with_the_rules_none_sticks) {
  const Kept table[] = {
      {"two ranks", {2, 3, 1}, {}, 1775},
      {"three ranks", {3, 2, 0}, {}, 3821},
      {"one queue for all streams", {2, 3, 1}, {.connections = 1}, 1775},
      {"queues that streams share", {3, 2, 0}, {.connections = 2}, 3821},
      {"a device that is slow", {2, 2, 0}, {.stepwise = true}, 1366},
      {"copies by the sender alone, and hosts that wait for their device",
       {3, 2, 0},
       {.synchronises = true, .push = true},
       345},
      // Each row lacks a rule that its device does not need. Since waits are in launch order, a
      // device needs either the rule of one operation at a time or a queue for each stream.
      {"several operations at a time, a queue for each stream", {2, 3, 1}, {.deep = true}, 2854},
      {"receives before they are announced", {2, 2, 0}, {.ahead = true}, 1024},
      {"the same, with one queue", {2, 2, 0}, {.ahead = true, .connections = 1}, 1024},
  };
  for (const Kept& row : table) {
    SCOPED_TRACE(row.what);
    const EdgeStates found = visit(row.size, row.rules);
    EXPECT_TRUE(found.all) << text_of(found);
    EXPECT_EQ(found.states, row.states);
  }
}

// A missing rule that causes deadlock, the length of the shortest such run, and text of its waits.
struct Broken {
  const char* what;
  EdgeSize size;
  EdgeRules rules;
  std::size_t events;
  const char* waits;
};

TEST_F(EdgeStatesTest, without_any_of_the_rules_some_stick) {
  const Broken table[] = {
      {"one communicator for both directions", {2, 2, 0}, {.pair = true}, 9, "the same resources"},
      {"the same, three ranks", {3, 2, 0}, {.pair = true}, 17, "the same resources"},
      {"communicators that share resources", {2, 2, 0}, {.shared = true}, 9, "the same resources"},
      {"room for one kernel", {2, 2, 0}, {.one_fits = true, .stepwise = true}, 17, "for room"},
      {"hosts that wait for their device", {2, 2, 0}, {.synchronises = true}, 9, "for its device"},
      {"several operations at a time, and one queue for all streams",
       {2, 4, 2},
       {.deep = true, .connections = 1},
       16,
       "in the hardware's queue"},
  };
  for (const Broken& row : table) {
    SCOPED_TRACE(row.what);
    const EdgeStates found = visit(row.size, row.rules);
    EXPECT_TRUE(found.stuck) << text_of(found);
    EXPECT_EQ(found.run.size(), row.events) << text_of(found);
    EXPECT_NE(found.waits.find(row.waits), std::string::npos) << text_of(found);
  }
}

// If an event is recorded while a thread of NCCL is about to launch work, the event reports the end
// of work that has not even been launched.
TEST_F(EdgeStatesTest, without_blocking_a_message_is_taken_before_it_is_there) {
  const EdgeStates found = visit({2, 2, 0}, {.non_blocking = true, .stepwise = true});
  EXPECT_EQ(found.wrong, "rank 1 takes message 0 before it is there");
  EXPECT_EQ(found.run.size(), 4U) << text_of(found);
}

// The programs have all shapes: joins, and several stages per rank whose messages share an edge.
TEST_F(EdgeStatesTest, with_the_rules_no_proved_program_sticks) {
  RandomProgramOptions options;
  options.max_microbatches = 2;
  options.any_count = false;
  const std::uint64_t first = number_of("RIPELINE_EDGE_SEED", 1);
  const std::uint64_t programs = number_of("RIPELINE_EDGE_PROGRAMS", 60);
  std::int64_t states = 0;
  int all = 0;
  int proved = 0;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    SCOPED_TRACE("RIPELINE_EDGE_SEED=" + std::to_string(seed) + " RIPELINE_EDGE_PROGRAMS=1");
    const std::string text = random_program_text(seed, options);
    const spec::Program program = spec::compile({"random.ripe", text}).value();
    if (verify::verify(program).outcome != verify::Outcome::proved) continue;
    ++proved;
    EdgeRules rules;
    rules.connections = static_cast<int>(seed % 3);
    const EdgeStates found = visit_edge_states(spec::Machine(program, program.microbatches.min),
                                               rules, kMostStatesOfRandom);
    EXPECT_FALSE(found.stuck) << text << text_of(found);
    EXPECT_EQ(found.wrong, "") << text << text_of(found);
    states += found.states;
    all += found.all ? 1 : 0;
    if (HasFailure()) return;
  }
  std::printf("%d proved programs, %lld states, all of %d\n", proved,
              static_cast<long long>(states), all);
  if (programs >= 60) {
    EXPECT_GT(all, 10);
  }
}

TEST_F(EdgeStatesTest, of_the_size_that_is_asked_for) {
  const char* const text = std::getenv("RIPELINE_EDGE_SIZE");
  if (text == nullptr) GTEST_SKIP() << "RIPELINE_EDGE_SIZE is not set";
  EdgeSize size;
  ASSERT_EQ(std::sscanf(text, "%d,%d,%d", &size.ranks, &size.microbatches, &size.extra), 3);
  const char* const most = std::getenv("RIPELINE_EDGE_STATES");
  const EdgeStates found = visit(size, {}, most == nullptr ? kMostStates : std::atoll(most));
  EXPECT_FALSE(found.stuck) << text_of(found);
  EXPECT_EQ(found.wrong, "") << text_of(found);
  std::printf("%lld states%s\n", static_cast<long long>(found.states),
              found.all ? ", which are all" : "; there are more");
}

}  // namespace
}  // namespace ripeline::testing_support
