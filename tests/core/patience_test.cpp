// Tests when a rank that follows an order waits, and which notices it sends to its neighbours.
#include "core/patience.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

using fake::kFacts;

// Lanes 0F, 0B, 1F, 1B; edges 1 (1B to 0B) and 2 (0F to 1F) cross ranks.
constexpr LaneId kOwnF = 0;
constexpr LaneId kOwnB = 1;
constexpr LaneId kNextF = 2;
constexpr EdgeId kGradient = 1;
constexpr EdgeId kActivation = 2;

Costs costs() {
  return {.tasks = {Time{100}, Time{200}, Time{100}, Time{200}},
          .varying = {},
          .links = {Time{0}, Time{10}, Time{10}, Time{0}},
          .notices = {Time{0}, Time{4}, Time{4}, Time{0}}};
}

// The order of one rank, as a list of lanes.
FollowedOrder order_of(LaneSpan own, const std::vector<LaneId>& lanes) {
  std::vector<Task> tasks;
  for (const LaneId lane : lanes) tasks.push_back({lane, 0});
  FollowedOrder order;
  order.reset(own, tasks);
  return order;
}

ProgramFacts with(ProgramFacts facts, const PatienceRules& rules = {}) {
  facts.dispatch.patience = rules;
  return facts;
}

Notice expected(EdgeId edge, int microbatch, int in) {
  return {.kind = Notice::Kind::expected, .message = {edge, microbatch}, .in = Time{in}};
}
Notice taken(EdgeId edge, int count) {
  Notice notice;
  notice.kind = Notice::Kind::taken;
  notice.message.edge = edge;
  notice.count = count;
  return notice;
}
Choice hold(int until) { return {.kind = Choice::Kind::hold, .task = {}, .until = Time{until}}; }

// Rank 0 of the chain after F 0 and F 1. B 0 is next in the order, and F 2 is ready.
struct Rank0 {
  explicit Rank0(const PatienceRules& rules = {})
      : facts(with(kFacts, rules)),
        order(order_of({kOwnF, kOwnB + 1}, {kOwnF, kOwnF, kOwnB, kOwnF, kOwnB, kOwnB})),
        patience(facts, 0) {
    patience.expect(costs());
    patience.begin_step(3, order);
    for (int m = 0; m < 2; ++m) {
      run({kOwnF, m}, m * 100);
    }
  }
  void run(Task task, int at) {
    order.started(task.lane);
    patience.started(task, Time{at});
    patience.take_notices(Time{at}, notices);
    patience.finished(task, Time{at + (task.lane == kOwnF ? 100 : 200)});
  }
  [[nodiscard]] Choice choose(int now) const {
    return patience.choose(fake::start(kOwnF, 2), kOwnB, Time{now});
  }

  ProgramFacts facts;
  FollowedOrder order;
  Patience patience;
  std::vector<Notice> notices;
};

TEST(Patience, waits_for_what_is_about_to_arrive_and_not_for_ever) {
  Rank0 rank;
  // F 2 takes 100. It starts if B is 90 or more away; else the rank waits 150 beyond the forecast.
  rank.patience.noticed(expected(kGradient, 0, 80), Time{200});
  EXPECT_EQ(rank.choose(200), hold(280 + 150));
  EXPECT_EQ(rank.choose(200), rank.choose(200));
  EXPECT_EQ(rank.choose(429), hold(430));
  EXPECT_EQ(rank.choose(430), fake::start(kOwnF, 2));
}

TEST(Patience, does_not_wait_for_what_is_far_or_not_known) {
  Rank0 rank;
  EXPECT_EQ(rank.choose(200), fake::start(kOwnF, 2));
  rank.patience.noticed(expected(kGradient, 0, 90), Time{200});
  EXPECT_EQ(rank.choose(200), fake::start(kOwnF, 2));
  EXPECT_EQ(rank.choose(201), hold(290 + 150));
  Notice withdrawn = expected(kGradient, 0, 0);
  withdrawn.kind = Notice::Kind::withdrawn;
  rank.patience.noticed(withdrawn, Time{201});
  EXPECT_EQ(rank.choose(201), fake::start(kOwnF, 2));
}

TEST(Patience, starts_what_is_next_or_alone_at_once) {
  Rank0 rank;
  rank.patience.noticed(expected(kGradient, 0, 10), Time{200});
  EXPECT_EQ(rank.patience.choose(fake::start(kOwnB, 0), kOwnB, Time{200}), fake::start(kOwnB, 0));
  EXPECT_EQ(rank.patience.choose(fake::start(kOwnF, 2), -1, Time{200}), fake::start(kOwnF, 2));
  EXPECT_EQ(rank.patience.choose({}, kOwnB, Time{200}), Choice{});
}

TEST(Patience, counts_from_when_the_engine_became_idle_if_that_is_later) {
  Rank0 rank;
  rank.patience.noticed(expected(kGradient, 0, 20), Time{100});
  EXPECT_EQ(rank.choose(200), hold(200 + 150));
}

TEST(Patience, does_not_wait_while_its_consumer_has_something_to_do) {
  // Rank 0 has B ready and F next. Rank 1 has not started all tasks for which it got messages.
  Rank0 rank;
  const auto choose = [&] { return rank.patience.choose(fake::start(kOwnB, 0), kOwnF, Time{200}); };
  rank.patience.noticed(taken(kActivation, 1), Time{200});
  EXPECT_EQ(choose(), fake::start(kOwnB, 0));
  // 0F needs no message, so nothing is known about when 0F can start.
  rank.patience.noticed(taken(kActivation, 2), Time{200});
  EXPECT_EQ(choose(), fake::start(kOwnB, 0));
}

// Rank 0 has two stages, with 0F, 2F and 0B; rank 1 has 1F between these and 3F after the second.
constexpr OpFacts kTwoStageOps[] = {{"F", OpKind::forward}, {"B", OpKind::backward}};
constexpr LaneFacts kTwoStageLanes[] = {{0, 0, 0, 0, Engine::compute},
                                        {0, 2, 0, 1, Engine::compute},
                                        {1, 0, 0, 0, Engine::compute},
                                        {0, 1, 1, 0, Engine::compute},
                                        {0, 3, 1, 1, Engine::compute}};
constexpr EdgeFacts kTwoStageEdges[] = {{3, 1}, {0, 2}, {0, 3}, {1, 4}};

// The rank has run 0F0, 0F1 and 2F0; 2F1 is next and soon ready; 3F0 has not started yet.
struct TwoStages {
  explicit TwoStages(std::span<const LaneFacts> lanes)
      : facts{.core_version = kCoreVersion,
              .name = "two_stages",
              .hash = 1,
              .proved = true,
              .ranks = 2,
              .stages = 4,
              .min_microbatches = 1,
              .max_microbatches = 0,
              .ops = kTwoStageOps,
              .lanes = lanes,
              .edges = kTwoStageEdges,
              .pools = {},
              .uses = {},
              .dispatch = {.patience = PatienceRules{}}},
        order(order_of({0, 3}, {0, 0, 1, 1, 2, 2})),
        patience(facts, 0) {
    patience.expect({.tasks = std::vector<Time>(5, Time{100}),
                     .varying = {},
                     .links = std::vector<Time>(4, Time{10}),
                     .notices = std::vector<Time>(4, Time{4})});
    patience.begin_step(3, order);
    run({0, 0}, 0);
    run({0, 1}, 100);
    run({1, 0}, 200);
    patience.noticed(expected(0, 1, 10), Time{300});
  }
  void run(Task task, int at) {
    order.started(task.lane);
    patience.started(task, Time{at});
    patience.finished(task, Time{at + 100});
  }
  [[nodiscard]] Choice choose(Choice ready, int now) const {
    return patience.choose(ready, 1, Time{now});
  }

  ProgramFacts facts;
  FollowedOrder order;
  Patience patience;
};

TEST(Patience, waits_though_its_consumer_has_something_to_do_while_the_pipeline_fills) {
  TwoStages rank(kTwoStageLanes);
  EXPECT_EQ(rank.choose(fake::start(0, 2), 300), hold(310 + 150));
  // A task of another op starts instead, since a later 2F1 delays no other task.
  EXPECT_EQ(rank.choose(fake::start(2, 0), 300), fake::start(2, 0));
  rank.run({2, 0}, 300);
  rank.patience.noticed(expected(0, 1, 10), Time{400});
  EXPECT_EQ(rank.choose(fake::start(0, 2), 400), fake::start(0, 2));
}

TEST(Patience, nothing_fills_where_nothing_comes_after_it) {
  std::vector<LaneFacts> lanes(std::begin(kTwoStageLanes), std::end(kTwoStageLanes));
  lanes[2].op = 0;  // only forwards need its output
  EXPECT_EQ(TwoStages(lanes).choose(fake::start(0, 2), 300), fake::start(0, 2));
  lanes[2] = kTwoStageLanes[2];
  lanes[2].once = true;
  EXPECT_EQ(TwoStages(lanes).choose(fake::start(0, 2), 300), fake::start(0, 2));
  lanes[2] = kTwoStageLanes[2];
  lanes[2].engine = Engine::copy_out;
  EXPECT_EQ(TwoStages(lanes).choose(fake::start(0, 2), 300), fake::start(0, 2));
}

TEST(Patience, the_consumer_s_counts_decide_on_the_rank_between) {
  // On rank 1, F 0 has ended, F 1 is expected, and B 0 is ready. The next task in the order is F.
  const FollowedOrder order = order_of({kNextF, kNextF + 2}, {});
  const ProgramFacts facts = with(kFacts);
  Patience patience(facts, 1);
  patience.expect(costs());
  patience.begin_step(3, order);
  patience.noticed(expected(kActivation, 0, 10), Time{0});
  patience.noticed(expected(kActivation, 1, 10), Time{0});
  // 1F sends to no other rank, but 1B on this rank needs 1F, so the rank waits for 1F.
  EXPECT_EQ(patience.choose(fake::start(3, 0), kNextF, Time{0}), hold(10 + 300));
  patience.arrived({kActivation, 0}, Time{0});
  EXPECT_EQ(patience.choose(fake::start(3, 0), kNextF, Time{0}), hold(10 + 300));
  patience.arrived({kActivation, 1}, Time{0});
  EXPECT_EQ(patience.choose(fake::start(3, 0), kNextF, Time{0}), fake::start(3, 0));
}

TEST(Patience, tells_when_a_message_will_arrive_and_what_was_taken) {
  Rank0 rank;
  EXPECT_EQ(rank.notices, (std::vector<Notice>{expected(kActivation, 0, 100 + 10 - 4),
                                               expected(kActivation, 1, 100 + 10 - 4)}));
  rank.notices.clear();
  rank.patience.arrived({kGradient, 0}, Time{200});
  rank.run({kOwnB, 0}, 200);
  EXPECT_EQ(rank.notices, std::vector<Notice>{taken(kGradient, 1)});
}

TEST(Patience, forecasts_what_its_order_has_next_and_takes_it_back) {
  Rank0 rank({.forecasts = true});
  // F 1 is forecast before it starts, since it will start when F 0 ends, and will take 100.
  ASSERT_GE(rank.notices.size(), 2U);
  EXPECT_EQ(rank.notices[0], expected(kActivation, 0, 106));
  EXPECT_EQ(rank.notices[1], expected(kActivation, 1, 206));
}

// F 2 lacks only room. As time passes, the forecast of F 2 is repeated, but not for ever.
TEST(Patience, falls_silent_while_nothing_happens) {
  Rank0 rank({.forecasts = true});
  int now = 200;
  const auto forecasts = [&](int in) {
    for (int said = 0; said < 1'000'000; ++said) {
      rank.notices.clear();
      rank.patience.take_notices(Time{now += 100}, rank.notices);
      if (rank.notices.empty()) return said;
      EXPECT_EQ(rank.notices, std::vector<Notice>{expected(kActivation, 2, in)});
    }
    return -1;
  };
  EXPECT_GT(forecasts(106), 100);
  EXPECT_EQ(forecasts(106), 0);
  rank.patience.arrived({kGradient, 0}, Time{now});
  EXPECT_GT(forecasts(306), 100);  // F 2 then starts after B
}

TEST(Patience, without_costs_neither_waits_nor_tells) {
  const FollowedOrder order = order_of({kOwnF, kOwnB + 1}, {});
  const ProgramFacts facts = with(kFacts);
  Patience patience(facts, 0);
  patience.begin_step(3, order);
  patience.started({kOwnF, 0}, Time{0});
  patience.finished({kOwnF, 0}, Time{100});
  patience.noticed(expected(kGradient, 0, 10), Time{100});
  std::vector<Notice> notices;
  patience.take_notices(Time{100}, notices);
  EXPECT_TRUE(notices.empty());
  EXPECT_EQ(patience.choose(fake::start(kOwnF, 1), kOwnB, Time{100}), fake::start(kOwnF, 1));
}

TEST(Patience, a_message_is_put_off_only_so_often) {
  Rank0 rank;
  int now = 200;
  for (; now < 200 + 1000 * 50; now += 50) {
    rank.patience.noticed(expected(kGradient, 0, 60), Time{now});
    if (rank.choose(now).starts()) break;
  }
  EXPECT_LT(now, 200 + 60 * 50);
  // A message with a senseless time is not waited for either.
  rank.patience.noticed(
      {.kind = Notice::Kind::expected, .message = {kGradient, 1}, .in = Time::max()}, Time{now});
  EXPECT_TRUE(rank.choose(now).starts());
}

}  // namespace
}  // namespace ripeline::core
