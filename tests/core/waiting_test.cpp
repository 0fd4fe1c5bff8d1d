// Tests the description of a rank's waits, as data and as text.
#include "core/waiting.h"

#include <ctime>

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "core/executor.h"
#include "core/wait_graph.h"
#include "tests/core/fake_program.h"

namespace ripeline::core::waiting_test {
namespace {

using For = Wait::For;

constexpr Time kNow{100};
constexpr EdgeId kToF = 2;  // 0F to 1F
constexpr EdgeId kToB = 1;  // 1B to 0B

// An agreement that decides like OneMember, unless the test leaves its decision open.
struct Group final : Agreement {
  void begin_step(int) override {}
  Decision choose(const Arbiter& arbiter, Engine engine, Time now) override {
    if (open) return {.decided = false};
    return {.choice = arbiter.choose(engine, nullptr, now)};
  }
  void started(Task) override {}
  Status heard(int, const Ballot&) override { return {}; }
  bool open = false;
};

// A rank of the chain; the rank's pools have the proved capacities.
struct Rank {
  explicit Rank(int rank, int microbatches = 2)
      : arbiter(rank, facts), ledger(facts), executor({0, rank, 0}, arbiter, group, ledger) {
    EXPECT_TRUE(executor.begin_step(0, microbatches, kNow).ok());
  }
  void poll(Choice next = {}, Time now = kNow) {
    arbiter.next = next;
    std::vector<Command> commands;
    const Status status = executor.poll(now, commands);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void run(LaneId lane, int m) {
    poll(fake::start(lane, m));
    EXPECT_TRUE(executor.finished({lane, m}, kNow).ok());
  }
  void arrive(EdgeId edge, int m) { EXPECT_TRUE(executor.arrived(0, {edge, m}, kNow).ok()); }
  // The wait of the task, which must be the only one.
  Wait wait_of(Task task) {
    std::vector<Wait> found;
    for (const Wait& wait : executor.waits().waits) {
      EXPECT_TRUE(fits(facts, wait));
      if (wait.task == task) found.push_back(wait);
    }
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Wait{} : found.front();
  }
  std::string text_of(Task task) { return print_wait(facts, wait_of(task)); }

  std::vector<PoolFacts> pools{{"activation", "", 0, 0, 2, 2}, {"activation", "", 1, 1, 1, 1}};
  std::vector<UseFacts> uses{std::begin(fake::kUses), std::end(fake::kUses)};
  ProgramFacts facts = [this] {
    ProgramFacts f = fake::kFacts;
    f.pools = pools;
    f.uses = uses;
    return f;
  }();
  fake::FakeArbiter arbiter;
  Group group;
  Ledger ledger;
  Executor executor;
};

TEST(Waits, of_a_rank_without_a_step_are_none) {
  fake::FakeArbiter arbiter(0);
  OneMember agreement;
  Ledger ledger(fake::kFacts);
  const Executor executor({0, 0, 0}, arbiter, agreement, ledger);
  EXPECT_EQ(executor.waits().rank, 0);
  EXPECT_EQ(executor.waits().step, -1);
  EXPECT_TRUE(executor.waits().waits.empty());
  EXPECT_EQ(executor.waiting(), "");
}

TEST(Waits, name_each_need_that_is_missing_and_its_rank) {
  const Rank first(0);
  const RankWaits found = first.executor.waits();
  ASSERT_EQ(found.waits.size(), 3U);
  EXPECT_EQ(
      found.waits[1],
      (Wait{.reason = For::need, .task = {1, 0}, .message = {0, 0}, .other = {0, 0}, .on = 0}));
  EXPECT_EQ(
      found.waits[2],
      (Wait{.reason = For::need, .task = {1, 0}, .message = {kToB, 0}, .other = {3, 0}, .on = 1}));
}

TEST(Waits, say_what_runs_and_since_when) {
  Rank first(0);
  first.poll(fake::start(0, 0), Time{7});
  EXPECT_EQ(first.executor.waits().running, (std::vector<RunningTask>{{{0, 0}, Time{7}}}));
  EXPECT_EQ(first.executor.waiting(),
            "rank 0: 0F0 runs\nrank 0: 0B0 waits for 0F0 and 1B0 from rank 1\n");
}

TEST(Waits, for_an_engine_name_what_it_runs) {
  Rank first(0);
  first.run(0, 0);
  first.arrive(kToB, 0);
  first.poll(fake::start(0, 1));
  EXPECT_EQ(first.text_of({1, 0}), "0B0 waits for its engine, which runs 0F1");
}

TEST(Waits, for_room_name_the_pool_and_who_will_release) {
  Rank last(1);
  for (int m : {0, 1}) last.arrive(kToF, m);
  last.run(2, 0);
  EXPECT_EQ(
      last.wait_of({2, 1}),
      (Wait{.reason = For::room, .task = {2, 1}, .other = {3, 0}, .pool = 1, .on = 1, .held = 1}));
  EXPECT_EQ(last.text_of({2, 1}),
            "1F1 waits for room in activation of stage 1: 1 of 1 held, until 1B0 ends");
}

TEST(Waits, for_room_name_what_must_be_left) {
  Rank first(0);
  first.uses[0].leaving = 1;
  first.run(0, 0);
  EXPECT_EQ(first.text_of({0, 1}),
            "0F1 waits for room in activation of stage 0: 1 of 2 held, 1 to be left, until 0B0 "
            "ends");
}

TEST(Waits, for_a_turn_name_what_the_order_puts_first) {
  Rank first(0);
  first.arbiter.in_order = {1, 0};
  EXPECT_EQ(first.text_of({0, 0}), "0F0 waits for its turn: the order puts 0B0 first");
  first.arbiter.in_order = {0, 1};
  EXPECT_EQ(first.text_of({0, 0}), "0F0 waits for its turn: the order puts 0F1 first");
  EXPECT_EQ(first.text_of({0, 1}), "0F1 waits for its turn") << "what is next is said, too";
  first.arbiter.in_order = {0, 0};
  EXPECT_EQ(first.wait_of({0, 0}), (Wait{.reason = For::turn, .task = {0, 0}}));
}

TEST(Waits, name_the_group_and_the_hint) {
  Rank first(0);
  first.group.open = true;
  first.poll();
  EXPECT_EQ(first.text_of({0, 0}), "0F0 waits for its group to agree");
  first.group.open = false;
  first.poll({.kind = Choice::Kind::hold, .task = {}, .until = Time{170}});
  EXPECT_EQ(first.text_of({0, 0}),
            "0F0 waits for its turn: the hint waits for what is next in its order");
  first.poll();
  EXPECT_EQ(first.text_of({0, 0}), "0F0 waits for its turn");
}

TEST(Waits, that_do_not_fit_are_told_apart) {
  const ProgramFacts& facts = fake::kFacts;
  const Wait good{
      .reason = For::need, .task = {1, 0}, .message = {kToB, 0}, .other = {3, 0}, .on = 1};
  EXPECT_TRUE(fits(facts, good));
  const auto with = [&](auto&& change) {
    Wait wait = good;
    change(wait);
    return fits(facts, wait);
  };
  constexpr int kHuge = std::numeric_limits<int>::max();
  EXPECT_FALSE(with([](Wait& w) { w.task = {4, 0}; }));
  EXPECT_FALSE(with([](Wait& w) { w.task = {-1, 0}; }));
  EXPECT_FALSE(with([](Wait& w) { w.task.microbatch = -1; }));
  EXPECT_FALSE(with([](Wait& w) { w.task.microbatch = kHuge; }));
  EXPECT_FALSE(with([](Wait& w) { w.message.edge = 4; }));
  EXPECT_FALSE(with([](Wait& w) { w.message.microbatch = kHuge; }));
  EXPECT_FALSE(with([](Wait& w) { w.other.lane = kHuge; }));
  EXPECT_FALSE(with([](Wait& w) { w.on = 0; })) << "announced, over a link without slots";
  EXPECT_FALSE(with([](Wait& w) { w.reason = For::room; }));
  EXPECT_FALSE(with([](Wait& w) { w.reason = For::slot; }));
  EXPECT_FALSE(with([](Wait& w) { w.reason = For::grant; }));
  EXPECT_FALSE(with([](Wait& w) { w.reason = For::end; }));
  EXPECT_FALSE(with([](Wait& w) { w.reason = For::gather; }));
  EXPECT_FALSE(with([](Wait& w) { w.reason = static_cast<For>(77); }));
}

TEST(Waits, of_executors_lead_to_the_task_that_runs_and_to_the_message_that_was_lost) {
  Rank first(0, 3);
  Rank last(1, 3);
  for (int m : {0, 1}) {
    first.run(0, m);
    last.arrive(kToF, m);
  }
  first.poll();
  last.poll(fake::start(2, 0), kNow);
  const Layout flat = layout_of(first.facts);
  const auto blamed = [&] {
    std::vector<RankState> ranks(2);
    for (Rank* rank : {&first, &last}) {
      RankState& state = ranks[rank == &first ? 0 : 1];
      state.is = RankState::Is::well;
      state.waits = rank->executor.waits();
    }
    return print_blame(first.facts, flat, follow_waits(first.facts, flat, ranks, 0),
                       kNow + std::chrono::seconds(40));
  };
  EXPECT_EQ(blamed(),
            "rank 1 has been running 1F0 for 40.0 s\n"
            "rank 0: 0B0 waits for 1B0 from rank 1\n"
            "rank 1: 1B0 waits for 1F0\n");
  EXPECT_TRUE(last.executor.finished({2, 0}, kNow).ok());
  last.run(3, 0);  // its message does not arrive
  last.run(2, 1);
  last.run(3, 1);
  EXPECT_EQ(blamed(),
            "rank 1 owes 1B0 and does not say what keeps it; it is in step 0\n"
            "rank 0: 0B0 waits for 1B0 from rank 1\n");
}

// The CPU time for storing `messages` early messages of one later step; the best of several runs.
double keep(int messages) {
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < 5; ++run) {
    fake::FakeArbiter arbiter(1);
    OneMember agreement;
    Ledger ledger(fake::kFacts);
    Executor executor({0, 1, 0}, arbiter, agreement, ledger);
    const std::clock_t begin = std::clock();
    for (int m = 0; m < messages; ++m) {
      EXPECT_TRUE(executor.arrived(0, {kToF, m}, kNow).ok());
    }
    best = std::min(best, static_cast<double>(std::clock() - begin));
    for (const int m : {0, messages / 2, messages - 1}) {
      EXPECT_EQ(executor.arrived(0, {kToF, m}, kNow).message(),
                "rank 1, step -1: 0F" + std::to_string(m) + " has arrived twice for step 0");
    }
    EXPECT_TRUE(executor.announced(0, {kToF, 0}).ok()) << "that is another thing";
  }
  return best;
}

// If the time were quadratic, four times as many messages would take sixteen times as long.
TEST(ExecutorEarly, messages_are_kept_in_the_time_that_so_many_take) {
  const double few = keep(5'000);
  EXPECT_LT(keep(20'000), 9 * few + 1'000);
}

}  // namespace
}  // namespace ripeline::core::waiting_test
