// Tests which rank is blamed for waits: in a table, and in random graphs with one guilty rank.
#include "core/wait_graph.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

using For = Wait::For;
using Is = RankState::Is;
using Why = Blame::Why;

constexpr Time kNow = std::chrono::seconds(100);
constexpr Time ago(int milliseconds) { return kNow - std::chrono::milliseconds(milliseconds); }

// A chain of four ranks, F down and B up. The link from 0F to 1F has two slots, the link to 2F is a
// channel, and the link to 3F is a rendezvous.
struct Chain {
  static constexpr LaneId f(int rank) { return 2 * rank; }
  static constexpr LaneId b(int rank) { return 2 * rank + 1; }

  Chain() {
    for (int r = 0; r < 4; ++r) {
      lanes.push_back({0, r, r, 0, Engine::compute});
      lanes.push_back({1, r, r, 0, Engine::compute});
      if (r > 0) {
        edges.push_back({f(r - 1), f(r)});
        if (r < 3) edges.back().inbox = r - 1;
        edges.back().rendezvous = r == 3;
      }
      edges.push_back({f(r), b(r)});
      if (r < 3) edges.push_back({b(r + 1), b(r)});
      pools.push_back({"activation", "", r, r, 2, 2});
    }
    facts.ranks = facts.stages = 4;
    facts.lanes = lanes;
    facts.edges = edges;
    facts.pools = pools;
    facts.uses = {};
    facts.inboxes = inboxes;
  }
  [[nodiscard]] EdgeId edge(LaneId producer, LaneId consumer) const {
    const auto found = std::find_if(edges.begin(), edges.end(), [&](const EdgeFacts& e) {
      return e.producer == producer && e.consumer == consumer;
    });
    EXPECT_NE(found, edges.end());
    return static_cast<EdgeId>(found - edges.begin());
  }
  // The wait of microbatch m of `lane` for the same microbatch of `producer`.
  [[nodiscard]] Wait need(LaneId lane, LaneId producer, int m) const {
    return {.reason = For::need,
            .task = {lane, m},
            .message = {edge(producer, lane), m},
            .other = {producer, m},
            .on = lanes[static_cast<std::size_t>(producer)].rank};
  }
  // The wait until a message of `lane` to `consumer` can leave.
  [[nodiscard]] Wait leave(For reason, LaneId lane, LaneId consumer, int m) const {
    return {.reason = reason,
            .task = {lane, m},
            .message = {edge(lane, consumer), m},
            .other = {consumer, m},
            .on = lanes[static_cast<std::size_t>(consumer)].rank,
            .held = 2};
  }

  std::vector<LaneFacts> lanes;
  std::vector<EdgeFacts> edges;
  std::vector<PoolFacts> pools;
  std::vector<InboxFacts> inboxes{{"", 1, 1, 2}, {"inbox", 2, 2, 1}};
  ProgramFacts facts = fake::kFacts;
};

RankState well(std::vector<Wait> waits, std::vector<RunningTask> running = {}) {
  RankState state{.is = Is::well, .detail = {}, .waits = {}};
  state.waits.step = 4;
  state.waits.waits = std::move(waits);
  state.waits.running = std::move(running);
  return state;
}
RankState unwell(Is is, int since_milliseconds, std::string detail = "") {
  return {.is = is, .since = ago(since_milliseconds), .detail = std::move(detail), .waits = {}};
}

struct Case {
  const char* name;
  std::vector<RankState> ranks;
  std::string text;
  int from = -1;
};

std::vector<Case> cases() {
  const Chain c;
  const auto f = Chain::f;
  const auto b = Chain::b;
  const auto need = [&](LaneId lane, LaneId producer, int m) { return c.need(lane, producer, m); };
  const Wait turn{.reason = For::turn, .task = {f(1), 2}};
  const auto after = [&](For reason, int rank, Task task, Task other) {
    return Wait{
        .reason = reason, .task = task, .other = other, .pool = rank, .on = rank, .held = 2};
  };
  // Every rank except 1 waits, directly or not, for rank 1.
  const std::vector<Wait> by0{need(b(0), b(1), 0)};
  const std::vector<Wait> by2{need(f(2), f(1), 2)};
  const std::vector<Wait> by3{need(f(3), f(2), 2)};
  const std::string chain0 = "rank 0: 0B0 waits for 1B0 from rank 1\n";
  const std::string chain2 = "rank 2: 2F2 waits for 1F2 from rank 1\n";
  return {
      {"nobody", {well({}), well({}), well({}), well({})}, "no rank waits for another\n"},
      {"no rank", {}, "no rank waits for another\n"},
      {"a silent rank",
       {well(by0), unwell(Is::silent, 31'260, "last: 1F2 started"), well(by2), well(by3)},
       "rank 1 has been silent for 31.2 s (last: 1F2 started)\n" + chain0},
      {"a silent rank, as rank 3 sees it",
       {well(by0), unwell(Is::silent, 31'260), well(by2), well(by3)},
       "rank 1 has been silent for 31.2 s\nrank 3: 3F2 waits for 2F2 from rank 2\n" + chain2,
       3},
      {"a silent rank for which nobody waits",
       {well({}, {{{f(0), 3}, ago(10)}}), well({}), unwell(Is::silent, 30'000), well({})},
       "rank 2 has been silent for 30.0 s\n"},
      {"of two silent ranks the earlier",
       {well(by0), unwell(Is::silent, 30'000), unwell(Is::silent, 31'000), well(by3)},
       "rank 2 has been silent for 31.0 s\nrank 3: 3F2 waits for 2F2 from rank 2\n"},
      {"a lost rank before a silent one",
       {unwell(Is::silent, 40'000), unwell(Is::lost, 100, "connection closed"), well(by2),
        well({})},
       "rank 1 was lost (connection closed)\n" + chain2},
      {"a failed rank before those that were lost for it",
       {unwell(Is::lost, 50), unwell(Is::failed, 40, "1F2: out of memory"), well(by2), well(by3)},
       "rank 1 failed: 1F2: out of memory\n" + chain2},
      {"a failed rank that says so itself",
       {well(by0), unwell(Is::failed, 40, "rank 1 was told to end by SIGTERM"), well({}), well({})},
       "rank 1 was told to end by SIGTERM\n" + chain0},
      {"a task that does not end",
       {well({need(b(0), b(1), 2)}), well({need(b(1), b(2), 2)}, {{{f(1), 2}, ago(62'000)}}),
        well({by2[0], need(b(2), b(3), 2)}), well({by3[0], need(b(3), f(3), 2)})},
       "rank 1 has been running 1F2 for 62.0 s\n" + chain2},
      {"a task before the one that is needed",
       {well(by0), well({}, {{{b(1), 0}, ago(5'000)}}), well({}), well({})},
       "rank 1 has been running 1B0 for 5.0 s\n" + chain0},
      {"an engine that another task keeps",
       {well(by0), well({after(For::engine, 1, {b(1), 0}, {f(1), 5})}, {{{f(1), 5}, ago(5'000)}})},
       "rank 1 has been running 1F5 for 5.0 s\nrank 1: 1B0 waits for its engine, which runs 1F5\n"},
      {"a rank that does not start what it could",
       {well({need(b(0), b(1), 2)}), well({turn, need(b(1), b(2), 2)}),
        well({by2[0], need(b(2), b(3), 2)}), well({by3[0], need(b(3), f(3), 2)})},
       "rank 1 does not start 1F2, and no other rank owes it anything\n"
       "rank 1: 1F2 waits for its turn\n"},
      {"a hint that waits for what does not come",
       {well({c.leave(For::slot, f(0), f(1), 4)}),
        well({{.reason = For::hold, .task = {f(1), 2}}, need(b(1), b(2), 0)}),
        well({need(b(2), b(3), 0)}), unwell(Is::lost, 0)},
       "rank 3 was lost\n"
       "rank 0: the message of 0F4 at 1F4 waits for a slot: the slots from 0F to 1F, 2 of 2 taken\n"
       "rank 1: 1F2 waits for its turn: the hint waits for what is next in its order\n"
       "rank 1: 1B0 waits for 2B0 from rank 2\nrank 2: 2B0 waits for 3B0 from rank 3\n",
       0},
      {"a message that was lost on its way",
       {well({}), well({}), well(by2), well(by3)},
       "rank 1 owes 1F2 and does not say what keeps it; it is in step 4\n" + chain2},
      {"a message that waits for a slot, behind a task that waits",
       {well({c.leave(For::slot, f(0), f(1), 4)}),
        well({after(For::room, 1, {f(1), 2}, {b(1), 0}), need(b(1), b(2), 0)}),
        unwell(Is::silent, 9'000)},
       "rank 2 has been silent for 9.0 s\n"
       "rank 0: the message of 0F4 at 1F4 waits for a slot: the slots from 0F to 1F, 2 of 2 taken\n"
       "rank 1: 1F2 waits for room in activation of stage 1: 2 of 2 held, until 1B0 ends\n"
       "rank 1: 1B0 waits for 2B0 from rank 2\n",
       0},
      {"a circle",
       {well({need(b(0), b(1), 2)}),
        well({c.leave(For::grant, f(1), f(2), 2), need(b(1), b(2), 2)}),
        well({{.reason = For::need,
               .task = {f(2), 2},
               .message = {c.edge(f(1), f(2)), 2},
               .other = {b(2), 2},
               .on = 2,
               .held = 1},
              need(b(2), b(3), 2)}),
        well({need(b(3), f(3), 2), need(f(3), f(2), 2)})},
       "ranks 2 and 3 wait for each other\n"
       "rank 2: 2F2 waits for 1F2 from rank 1, whose message waits for a slot: inbox of stage 2, 1 "
       "of 1 taken\n"
       "rank 2: 2B2 waits for 3B2 from rank 3\n"
       "rank 3: 3B2 waits for 3F2\n"
       "rank 3: 3F2 waits for 2F2 from rank 2\n"},
      {"a rank that waits for itself",
       {well({after(For::turn, 0, {f(0), 0}, {f(0), 0})})},
       "rank 0 waits for itself\nrank 0: 0F0 waits for its turn: the order puts 0F0 first\n"},
      {"a rendezvous, and an engine that hands over",
       {well({}), well({}),
        well({c.leave(For::grant, f(2), f(3), 2),
              {.reason = For::engine,
               .task = {b(2), 0},
               .message = {c.edge(f(2), f(3)), 2},
               .other = {f(2), 2},
               .on = 3}}),
        well({}, {{{f(3), 1}, ago(7'000)}})},
       "rank 3 has been running 3F1 for 7.0 s\n"
       "rank 2: the message of 2F2 at 3F2 waits for its rendezvous with rank 3\n"},
      {"a rank that does not come to a gather",
       {well({{.reason = For::gather, .on = 1}}), well({}),
        well({{.reason = For::gather, .on = 0}})},
       "rank 1 is waited for and does not say what keeps it; it is in step 4\n"
       "rank 2: the gather waits for rank 0\nrank 0: the gather waits for rank 1\n",
       2},
      {"slots at the end of a step",
       {well({{.reason = For::end, .message = {c.edge(f(0), f(1)), -1}, .on = 1, .held = 1}}),
        well({need(f(1), f(0), 3)}, {{{b(1), 0}, ago(1'000)}})},
       "rank 0 owes 0F3 and does not say what keeps it; it is in step 4\n"
       "rank 1: 1F3 waits for 0F3 from rank 0\n"},
      {"a group that does not agree",
       {well({{.reason = For::agreement, .task = {f(0), 1}}}), well({need(f(1), f(0), 1)})},
       "rank 0 does not start 0F1, and no other rank owes it anything\n"
       "rank 0: 0F1 waits for its group to agree\n"},
      {"a rank that is not there",
       {well({}), well({}), well({need(b(2), b(3), 0)})},
       "rank 2 does not start 2B0, and no other rank owes it anything\n"
       "rank 2: 2B0 waits for 3B0 from rank 3\n"},
      {"what does not fit is left out",
       {well({{.reason = For::need, .task = {99, 0}, .message = {99, 0}, .on = 1}},
             {{{-7, 3}, ago(0)}}),
        well({})},
       "no rank waits for another\n"},
      {"the task for which more ranks wait",
       {well({need(b(0), b(1), 0)}, {}), well({need(b(1), b(2), 0)}, {{{f(1), 7}, ago(90'000)}}),
        well({need(f(2), f(1), 7)}, {{{b(2), 0}, ago(2'000)}})},
       "rank 2 has been running 2B0 for 2.0 s\nrank 1: 1B0 waits for 2B0 from rank 2\n"},
  };
}

TEST(WaitGraph, names_the_culprit_and_the_chain) {
  const Chain chain;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Blame blame = follow_waits(chain.facts, layout_of(chain.facts), c.ranks, c.from);
    EXPECT_EQ(print_blame(chain.facts, layout_of(chain.facts), blame, kNow), c.text);
    for (int from = -1; from < 5; ++from) {
      const Blame other = follow_waits(chain.facts, layout_of(chain.facts), c.ranks, from);
      EXPECT_EQ(other.processes, blame.processes) << "the same for all";
      EXPECT_EQ(other.why, blame.why);
    }
  }
}

// Two ranks of the chain with two members each: processes 0 and 1 are rank 0, 2 and 3 are rank 1.
struct Groups : Chain {
  Groups() {
    facts.ranks = facts.stages = 2;
    facts.members = 2;
    facts.agree = Agree::intersection;
    facts.collectives = collectives;
  }
  std::vector<LaneId> collectives = {f(0), f(1)};
};

TEST(WaitGraph, of_groups_finds_the_member) {
  const Groups c;
  const auto f = [](int rank) { return Chain::f(rank); };
  const auto b = [](int rank) { return Chain::b(rank); };
  const auto need = [&](LaneId lane, LaneId producer, int m) { return c.need(lane, producer, m); };
  const Wait vote{.reason = For::agreement, .task = {f(1), 1}, .on = 1};
  struct GroupCase {
    const char* name;
    std::vector<RankState> processes;
    std::string text;
    int from = -1;
  };
  const GroupCase all[] = {
      {"who needs a message needs it of the same member",
       {well({}, {{{f(0), 3}, ago(4'000)}}), well({}, {{{f(0), 3}, ago(9'000)}}),
        well({need(f(1), f(0), 3)}), well({})},
       "process 0 (rank 0, member 0) has been running 0F3 for 4.0 s\n"
       "process 2 (rank 1, member 0): 1F3 waits for 0F3 from rank 0\n"},
      {"a task with collectives waits for who has not started it",
       {well({need(b(0), b(1), 0)}), well({need(b(0), b(1), 0)}),
        well({{.reason = For::engine, .task = {b(1), 0}, .other = {f(1), 2}}},
             {{{f(1), 2}, ago(30'000)}}),
        well({}, {{{b(1), 1}, ago(40'000)}})},
       "process 3 (rank 1, member 1) has been running 1B1 for 40.0 s\n"
       "process 0 (rank 0, member 0): 0B0 waits for 1B0 from rank 1\n"
       "process 2 (rank 1, member 0): 1B0 waits for its engine, which runs 1F2\n",
       0},
      {"a group waits for who has not voted, and that for a message",
       {well({}), well({}, {{{f(0), 1}, ago(2'000)}}), well({vote}), well({need(f(1), f(0), 1)})},
       "process 1 (rank 0, member 1) has been running 0F1 for 2.0 s\n"
       "process 2 (rank 1, member 0): 1F1 waits for its group to agree: number 1 has not voted\n"
       "process 3 (rank 1, member 1): 1F1 waits for 0F1 from rank 0\n",
       2},
      {"a gather waits for a process",
       {well({{.reason = For::gather, .on = 2}}), well({}), well({}), well({})},
       "process 2 (rank 1, member 0) is waited for and does not say what keeps it; it is in step "
       "4\n"
       "process 0 (rank 0, member 0): the gather waits for process 2 (rank 1, member 0)\n"},
  };
  for (const GroupCase& of : all) {
    SCOPED_TRACE(of.name);
    const Layout layout = layout_of(c.facts);
    EXPECT_EQ(
        print_blame(c.facts, layout, follow_waits(c.facts, layout, of.processes, of.from), kNow),
        of.text);
  }
}

// One op at each of `size` ranks; each task may need any other.
struct Mesh {
  explicit Mesh(int ranks) : size(ranks) {
    for (int to = 0; to < ranks; ++to) {
      lanes.push_back({0, to, to, 0, Engine::compute});
      for (int from = 0; from < ranks; ++from) {
        if (from != to) edges.push_back({from, to, Of::all});
      }
    }
    facts.ranks = facts.stages = ranks;
    facts.lanes = lanes;
    facts.edges = edges;
    facts.pools = {};
    facts.uses = {};
  }
  [[nodiscard]] EdgeId edge(int from, int to) const {
    return to * (size - 1) + from - (from > to ? 1 : 0);
  }
  int size;
  std::vector<LaneFacts> lanes;
  std::vector<EdgeFacts> edges;
  ProgramFacts facts = fake::kFacts;
};

// The ranks are in a random order. Each except the last waits for some later ranks and sometimes
// for an earlier one, which makes cycles. So a chain of waits can only end at the last rank.
TEST(WaitGraph, names_the_one_guilty_rank_of_random_graphs) {
  std::mt19937 random(20);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  for (int run = 0; run < 3'000; ++run) {
    const Mesh mesh(2 + below(12));
    std::vector<int> order(static_cast<std::size_t>(mesh.size));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int> next(order.size());  // the next microbatch, per rank
    for (int& m : next) m = below(5);
    std::vector<RankState> ranks(order.size(), well({}));
    const auto state = [&](int rank) -> RankState& {
      return ranks[static_cast<std::size_t>(rank)];
    };
    const auto wait_for = [&](int rank, int on) {
      const int m = next[static_cast<std::size_t>(on)] + below(3);  // may be a later one
      state(rank).waits.waits.push_back({.reason = For::need,
                                         .task = {rank, next[static_cast<std::size_t>(rank)]},
                                         .message = {mesh.edge(on, rank), m},
                                         .other = {on, m},
                                         .on = on});
    };
    for (int i = 0; i + 1 < mesh.size; ++i) {
      const int rank = order[static_cast<std::size_t>(i)];
      for (int k = 1 + below(3); k > 0; --k) {
        wait_for(rank, order[static_cast<std::size_t>(i + 1 + below(mesh.size - i - 1))]);
      }
      if (i > 0 && below(4) == 0) wait_for(rank, order[static_cast<std::size_t>(below(i))]);
    }
    const int guilty = order.back();
    const auto why = static_cast<Why>(1 + below(6));
    const Task task{guilty, next[static_cast<std::size_t>(guilty)]};
    if (why <= Why::silent) state(guilty) = unwell(static_cast<Is>(why), 1'000);
    if (why == Why::runs) state(guilty).waits.running.push_back({task, ago(1'000)});
    if (why == Why::starts)
      state(guilty).waits.waits.push_back({.reason = For::turn, .task = task});

    const int from = below(mesh.size);
    const Blame blame = follow_waits(mesh.facts, layout_of(mesh.facts), ranks, from);
    ASSERT_EQ(blame.processes, std::vector{guilty}) << run;
    ASSERT_EQ(blame.why, why) << run;
    if (from == guilty && why != Why::starts) continue;
    ASSERT_FALSE(blame.chain.empty());
    EXPECT_EQ(blame.chain.front().process, from);
    for (std::size_t i = 0; i + 1 < blame.chain.size(); ++i) {
      EXPECT_EQ(blame.chain[i].wait.on, blame.chain[i + 1].process);
    }
    EXPECT_EQ(why == Why::starts ? blame.chain.back().process : blame.chain.back().wait.on, guilty);
  }
}

TEST(WaitGraph, takes_any_input) {
  const Chain chain;
  std::mt19937 random(7);
  const auto number = [&] {
    constexpr int kOdd[] = {-2, -1, std::numeric_limits<int>::max(),
                            std::numeric_limits<int>::min()};
    const int n = std::uniform_int_distribution<int>(0, 23)(random);
    return n < 4 ? kOdd[n] : n / 3;
  };
  for (int run = 0; run < 20'000; ++run) {
    std::vector<RankState> ranks(static_cast<std::size_t>(std::abs(number() % 6)));
    for (RankState& state : ranks) {
      state = run % 3 > 0 || number() > 0 ? well({}) : unwell(Is::lost, number() % 100);
      for (int i = number() % 8; i > 0; --i) {
        state.waits.waits.push_back({.reason = static_cast<For>(number() % 12),
                                     .task = {number(), number()},
                                     .message = {number(), number()},
                                     .other = {number(), number()},
                                     .pool = number(),
                                     .on = number(),
                                     .held = number()});
      }
      if (number() == 2) state.waits.running.push_back({{number(), number()}, Time{number()}});
    }
    const Blame blame = follow_waits(chain.facts, layout_of(chain.facts), ranks, number());
    const std::string text =
        print_blame(chain.facts, layout_of(chain.facts), blame, Time{number()});
    ASSERT_EQ(blame.processes.empty(), blame.why == Why::nobody);
    ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), std::ssize(blame.chain) + 1);
    const bool waits = std::any_of(ranks.begin(), ranks.end(), [&](const RankState& state) {
      return state.is != Is::well ||
             std::any_of(state.waits.waits.begin(), state.waits.waits.end(),
                         [&](const Wait& wait) { return fits(chain.facts, wait); });
    });
    ASSERT_EQ(waits, blame.why != Why::nobody) << "whoever waits, waits for somebody";
  }
}

}  // namespace
}  // namespace ripeline::core
