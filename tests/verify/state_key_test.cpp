// Tests keys of states: different states have different keys, for any number of microbatches.
#include "verify/states/state_key.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "spec/elaborate.h"
#include "verify/states/search.h"

namespace ripeline {
namespace {

using spec::Machine;
using State = spec::Machine::State;
using verify::StateKey;

State with_queues(std::vector<std::vector<int>> queues) {
  State state;
  state.queues = std::move(queues);
  return state;
}

std::string key_of_queues(std::vector<std::vector<int>> queues) {
  return StateKey().add_queues(with_queues(std::move(queues))).take();
}

TEST(StateKey, queues_that_differ_have_different_keys) {
  const std::vector<std::pair<std::vector<std::vector<int>>, std::vector<std::vector<int>>>> pairs =
      {
          {{{0}}, {{256}}},           {{{0, 256}}, {{256, 0}}},   {{{255}, {}}, {{}, {255}}},
          {{{127}, {}}, {{}, {127}}}, {{{128}, {}}, {{}, {128}}}, {{{1, 2}, {}}, {{1}, {2}}},
          {{{0}, {}}, {{}, {0}}},     {{{1}, {}}, {{}, {1}}},     {{{1, 1}}, {{129}}},
          {{{1 << 30}}, {{1 << 29}}},
      };
  for (const auto& [one, other] : pairs) EXPECT_NE(key_of_queues(one), key_of_queues(other));
  EXPECT_EQ(key_of_queues({{255, 256}, {}}), key_of_queues({{255, 256}, {}}));
}

TEST(StateKey, each_task_and_message_counts) {
  constexpr std::size_t kTasks = 9;  // more than a byte has bits
  const State first{.tasks = std::vector<Machine::TaskState>(kTasks, Machine::TaskState::waiting),
                    .messages = {},
                    .held = {},
                    .taken = {},
                    .queues = {},
                    .running = {},
                    .handing = {},
                    .position = {},
                    .rounds = {},
                    .started = {}};
  for (std::size_t i = 0; i < kTasks; ++i) {
    State running = first;
    running.tasks[i] = Machine::TaskState::running;
    State ended = first;
    ended.tasks[i] = Machine::TaskState::ended;
    const auto tasks = [](const State& state) { return StateKey().add_tasks(state).take(); };
    EXPECT_NE(tasks(first), tasks(running));
    EXPECT_NE(tasks(first), tasks(ended));
    EXPECT_NE(tasks(running), tasks(ended));
    EXPECT_NE(StateKey().add_ended(first).take(), StateKey().add_ended(ended).take());
    EXPECT_EQ(StateKey().add_ended(first).take(), StateKey().add_ended(running).take());
  }
}

TEST(StateKey, parts_of_any_length_keep_apart) {
  EXPECT_NE(StateKey().add("ab").add("").take(), StateKey().add("a").add("b").take());
  EXPECT_NE(StateKey().add(std::vector<int>{1, 2}).add(std::vector<int>{}).take(),
            StateKey().add(std::vector<int>{1}).add(std::vector<int>{2}).take());
}

// The program deadlocks exactly if F0 runs after F256: then over one slot message 0 waits behind
// message 256, and C256 waits for R255, S255, …, S0 and so for C0. All F except F0 run in turn.
// After F0 and F256, in either order, the same tasks have ended, and the queue holds 0 and 256.
constexpr const char* kLagging = R"(
pipeline lagging {
  param ranks = 2;
  microbatches 257;
  stages ranks;
  place s on s;
  op F when s == 0 { needs D at next of m - 1, E at next of m - 1; }
  op C when s == 1 { needs F at prev via fifo 1, R at here of m - 1; }
  op D when s == 1 { needs C at here; }
  op E when s == 1 { needs C at here; }
  op S sequential when s == 1 { needs C at here; }
  op R when s == 1 { needs C at here, S at here; }
  dispatch ready;
}
)";

// The text of a program cannot give these shares: their common period is thousands of microbatches.
spec::Program lagging() {
  spec::Program program = spec::compile({"lagging.ripe", kLagging}).value();
  const auto give = [&program](const std::string& op, spec::Share share) {
    for (spec::Lane& lane : program.lanes) {
      if (program.ops[static_cast<std::size_t>(lane.op)].name == op) lane.share = share;
    }
  };
  const auto bit = [](int i) { return std::uint64_t{1} << i; };
  give("D", {64, ~bit(0)});                   // all but 0, 64, 128, 192, 256
  give("E", {63, bit(1) | bit(2) | bit(3)});  // 64, 128, 192 and others, not 0
  give("S", {51, bit(0)});                    // 0, 51, … 255
  give("R", {64, bit(63)});                   // 63, 127, 191, 255
  return program;
}

TEST(StateKey, no_state_is_left_out_with_more_than_256_microbatches) {
  const spec::Program program = lagging();
  const Machine machine(program, 257);
  const verify::Goal stuck;
  verify::Budget budget{100'000'000};
  verify::Search search(machine, Machine::Chooser::any, stuck, false, budget);
  const auto explored = search.explore();
  ASSERT_TRUE(explored.way.has_value()) << "complete: " << explored.complete;
  EXPECT_TRUE(search.events_of(*explored.way).has_value());
}

}  // namespace
}  // namespace ripeline
