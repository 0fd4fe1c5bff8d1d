// Tests tensor-parallel groups: a small program for each rule; every state of random programs.
#include "spec/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "spec/elaborate.h"
#include "tests/support/random_program.h"
#include "tests/support/verdicts.h"
#include "verify/group/every_size.h"
#include "verify/group/parting.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace ripeline::verify::group_test {
namespace {

using spec::Agree;
using spec::Engine;
using spec::Event;
using spec::GroupMachine;
using spec::Machine;
using spec::Program;
using Chooser = spec::Machine::Chooser;
using testing_support::compiled;
using testing_support::find;

// A chain with 1F1B's memory; its messages use `link`.
std::string chain(const std::string& agree, const std::string& link = "",
                  const std::string& more = "", int members = 2, int ranks = 3) {
  return "pipeline chain {\n  param ranks = " + std::to_string(ranks) +
         ";\n  microbatches any;\n  stages ranks;\n  place s on s;\n  tensor_parallel " +
         std::to_string(members) + " { agree by " + agree +
         "; }\n  op F forward { needs F at prev " + link +
         "; acquires a; collectives 2; }\n  op B backward { needs F at here, B at next " + link +
         "; releases a; collectives 2; }\n  resource a per stage { capacity ranks - s; }\n" + more +
         "  hint bf { rounds B, F; }\n  dispatch ready by bf;\n}\n";
}

// A chain with the given ops.
std::string with_ops(const std::string& agree, const std::string& ops,
                     const std::string& dispatch = "dispatch ready;") {
  return "pipeline chain {\n  param ranks = 3;\n  microbatches any;\n  stages ranks;\n"
         "  place s on s;\n  tensor_parallel 2 { agree by " +
         agree + "; }\n" + ops + "  " + dispatch + "\n}\n";
}

constexpr const char* kVlm =
    "pipeline vlm {\n  stages vision 2, text 1, llm 4;\n  edges vision -> llm, text -> llm;\n"
    "  place s on s;   microbatches 1 .. 256;\n  tensor_parallel 2 { agree by intersection; }\n"
    "  op F forward sequential { cost input;  needs F at prev via fifo 8;  acquires activation;"
    "  collectives 2; }\n"
    "  op B backward { cost 2 * input;  needs F at here, B at next;  releases activation;"
    "  collectives 2; }\n"
    "  op G reduce once { needs B at here of all; }\n"
    "  resource activation per stage { capacity 16; }\n"
    "  hint bf { rounds B, F; }   dispatch ready by bf;\n}\n";

std::string replace(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct Case {
  std::string name;
  std::string text;
  Outcome collectives;
  Outcome deadlock;
  std::string reason = "";  // part of the reason for deadlock's outcome
};

std::vector<Case> cases() {
  constexpr Outcome proved = Outcome::proved;
  constexpr Outcome refuted = Outcome::refuted;
  constexpr Outcome unknown = Outcome::unknown;
  const std::string inbox1 = "  channel inbox per stage { slots 1; }\n";
  const std::string inbox2 = "  channel inbox per stage { slots 2; }\n";
  const std::string inbox3 = "  channel inbox per stage { slots 3; }\n";
  const std::string forwards = "  op F forward sequential { needs F at prev; collectives 1; }\n";
  const std::string offloaded =
      "  op F forward { needs F at prev; acquires a; collectives 1; }\n"
      "  op O offload on copy_out { needs F at here; releases a; }\n"
      "  op L reload on copy_in { needs O at here, B at next; acquires b; }\n"
      "  op B backward { needs L at here; releases b; collectives 1; }\n"
      "  resource a per stage { capacity 3; }  resource b per stage { capacity 2; }\n";
  const std::string filled =
      "  op F forward { needs F at prev; collectives 1; }\n"
      "  op O offload on copy_out { needs F at here; }\n"
      "  op B backward { needs F at here, B at next; collectives 1; }\n"
      "  op W backward weight { needs B at here; }\n"
      "  order all on r { (F O) * microbatches;  B * microbatches; }\n"
      "  hint filler { follow all; fill W; }\n";
  const std::string offloads =
      "  op F forward { needs F at prev; acquires a; collectives 1; }\n"
      "  op O offload on copy_out { needs F at here; releases a; }\n"
      "  op B backward { needs F at here, B at next; collectives 1; }\n"
      "  resource a per stage { capacity 3; }\n"
      "  hint values { priority B = 1, F = -a; }\n";
  const std::string by_values = "dispatch ready by values;";
  const auto valued = [](const std::string& agree) {
    return replace(chain(agree), "rounds B, F", "priority F = -a, B = m - 3");
  };
  const std::string by_filler = "dispatch ready by filler;";
  return {
      {"the language's example", kVlm, proved, proved},
      {"the same, overtaking, in few slots",
       replace(replace(replace(kVlm, "fifo 8", "slots 1"), " sequential", ""), "capacity 16",
               "capacity 4"),
       proved, refuted, "taken until"},
      {"intersection, a slot for each", chain("intersection"), proved, proved},
      {"vote, a slot for each", chain("vote"), proved, proved},
      {"leader, a slot for each", chain("leader"), proved, proved},
      {"many members", chain("vote", "", "", 64), proved, proved},
      {"none", chain("none"), refuted, refuted, "Each waits for the other."},
      {"none, of five", chain("none", "", "", 5), refuted, refuted, "Each waits for the other."},
      {"RRFP's vote over shared slots", chain("vote", "via inbox", inbox2), proved, refuted,
       "never agree"},
      {"intersection over shared slots", chain("intersection", "via inbox", inbox2), proved,
       refuted, "never agree"},
      {"a leader over shared slots", chain("leader", "via inbox", inbox2), proved, refuted,
       "Member 0 has started"},
      {"shared slots that hold all that can wait", chain("vote", "via inbox", inbox3), proved,
       proved},
      {"what one member alone does", chain("vote", "via inbox", inbox1), proved, refuted,
       "taken until"},
      {"overtaking in one slot", chain("intersection", "via slots 1"), proved, refuted,
       "never agree"},
      {"overtaking in two slots of three", chain("intersection", "via slots 2"), proved, unknown,
       "Every state with 1 to 4 microbatches was visited: no group of 2 members deadlocks there."},
      {"the same, for few microbatches",
       replace(chain("intersection", "via slots 2"), "microbatches any", "microbatches 2 .. 4"),
       proved, proved},
      {"the same, of three members, each with another pair",
       chain("intersection", "via slots 2", "", 3), proved, refuted, "member 2 may start 1F"},
      {"the same, of eight members", chain("intersection", "via slots 2", "", 8), proved, refuted,
       "never agree"},
      {"a vote does not look for what is common", chain("vote", "via slots 2"), proved, refuted,
       "never agree"},
      {"a fifo from an engine that is agreed on", chain("intersection", "via fifo 1"), proved,
       proved},
      {"forwards in sequence leave no choice", with_ops("none", forwards), proved, proved},
      {"forwards that overtake do", with_ops("none", replace(forwards, " sequential", "")), refuted,
       refuted},
      {"collectives nowhere",
       replace(replace(chain("none"), "collectives 2;", ""), "collectives 2;", ""), proved, proved},
      {"a pool given out by each member for itself", with_ops("vote", offloaded), proved, unknown,
       "where each member chooses for itself"},
      {"a pool of two engines",
       with_ops("vote", replace(replace(offloaded, "acquires b", "acquires a"), "releases b",
                                "releases a")),
       proved, unknown, "on several engines"},
      {"turns that another engine ends",
       with_ops("vote",
                replace(offloaded, "  op B", "  hint turns { rounds B, F; fill O; }\n  op B"),
                "dispatch ready by turns;"),
       unknown, unknown, "different turns"},
      {"turns of two engines",
       with_ops("vote", replace(offloaded, "  op B", "  hint turns { rounds B, O, F; }\n  op B"),
                "dispatch ready by turns;"),
       unknown, unknown, "different turns"},
      {"a hint that fills beside another engine", with_ops("intersection", filled, by_filler),
       unknown, unknown, "different turns"},
      {"the same with a leader", with_ops("leader", filled, by_filler), proved, proved},
      {"a hint that fills, on one engine",
       with_ops("intersection", replace(filled, " on copy_out", ""), by_filler), proved, proved},
      {"values of what one engine holds", valued("intersection"), proved, proved},
      {"the same by vote", valued("vote"), proved, proved},
      {"values of what another engine releases", with_ops("intersection", offloads, by_values),
       unknown, unknown, "different values"},
      {"the same by vote", with_ops("vote", offloads, by_values), unknown, unknown,
       "different values"},
      {"the same with a leader", with_ops("leader", offloads, by_values), proved, proved},
      {"the same, of values that read nothing",
       with_ops("intersection", replace(offloads, "F = -a", "F = -m"), by_values), proved, proved},
      {"a committed order",
       with_ops("none",
                "  op F forward { needs F at prev; collectives 1; }\n"
                "  op B backward { needs F at here, B at next; collectives 1; }\n"
                "  order all on r { F * microbatches;  B * microbatches; }\n",
                "dispatch in order all;"),
       proved, proved},
      {"a committed order that waits for itself",
       with_ops("vote",
                "  op F forward { needs F at prev; collectives 1; }\n"
                "  op B backward { needs F at here, B at next; collectives 1; }\n"
                "  order all on r { B * microbatches;  F * microbatches; }\n",
                "dispatch in order all;"),
       proved, refuted},
  };
}

// Whether two members have started equally many, but not the same, collectives of one engine.
bool parted(const GroupMachine& group, const GroupMachine::State& state) {
  const Program& program = group.program();
  for (int rank = 0; rank < program.ranks; ++rank) {
    for (const Engine engine : {Engine::compute, Engine::copy_out, Engine::copy_in}) {
      std::vector<std::vector<spec::Task>> started(state.members.size());
      for (int lane = program.first_lane(rank); lane < program.first_lane(rank + 1); ++lane) {
        const spec::Lane& l = at(program.lanes, lane);
        if (l.engine != engine || l.collectives == 0) continue;
        for (int m = 0; m < program.tasks_of(lane, group.member().microbatches()); ++m) {
          for (std::size_t i = 0; i < started.size(); ++i) {
            if (group.member().has_started(state.members[i], lane, m)) {
              started[i].push_back({lane, m});
            }
          }
        }
      }
      for (const auto& other : started) {
        if (other.size() == started.front().size() && other != started.front()) return true;
      }
    }
  }
  return false;
}

// Replays the run by the dispatch, event by event; the run must end as the obligation claims.
void replay(const Program& program, const Obligation& o) {
  ASSERT_TRUE(o.counterexample) << name_of(o.kind);
  const Counterexample& run = *o.counterexample;
  EXPECT_EQ(run.members, program.tensor_parallel.members);
  const GroupMachine group(program, run.microbatches, run.members);
  GroupMachine::State state = group.initial();
  for (const Event& event : run.events) {
    ASSERT_TRUE(group.is_enabled(state, event, Chooser::dispatch)) << group.describe(event);
    group.step(state, event);
  }
  EXPECT_TRUE(o.kind == ObligationKind::deadlock ? group.stuck(state) : parted(group, state))
      << name_of(o.kind);
}

TEST(Group, verdicts) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Program program = compiled(c.text);
    const Verdict verdict = verify(program);
    for (const auto& [name, outcome] :
         {std::pair{"collectives", c.collectives}, std::pair{"deadlock", c.deadlock}}) {
      const Obligation& o = find(verdict, name);
      EXPECT_EQ(name_of(o.outcome), name_of(outcome)) << name << ": " << o.reason;
      if (o.outcome == Outcome::refuted) replay(program, o);
    }
    const Obligation& deadlock = find(verdict, "deadlock");
    EXPECT_NE(deadlock.reason.find(c.reason), std::string::npos) << deadlock.reason;
  }
}

// Reports name members, and a report's run can be read back with its members.
TEST(Group, reports_name_members) {
  const std::string text = chain("vote", "via inbox", "  channel inbox per stage { slots 2; }\n");
  const Program program = compiled(text);
  const Verdict verdict = verify(program);
  const std::string said = report_text(program, {"test.ripe", text}, verdict);
  EXPECT_NE(said.find("  members 0 .. 1\n"), std::string::npos) << said;
  EXPECT_NE(said.find("member 1: 1F"), std::string::npos) << said;
  const nlohmann::json json = report_json(program, {"test.ripe", text}, verdict);
  const auto& run = json.at("obligations").at(0).at("counterexample");
  EXPECT_EQ(run.at("members"), 2);
  const auto agreed = std::find_if(run.at("events").begin(), run.at("events").end(),
                                   [](const auto& e) { return e.at("do") == "agree"; });
  ASSERT_NE(agreed, run.at("events").end());
  EXPECT_FALSE(agreed->contains("member"));
  const auto recorded = read_run(program, json.dump());
  ASSERT_TRUE(recorded.ok());
  EXPECT_EQ(recorded.value().members, 2);
  EXPECT_EQ(recorded.value().events, find(verdict, "deadlock").counterexample->events);
}

// --- every state ---

struct Explored {
  bool complete = false;
  bool sticks = false;
  bool parts = false;
};

std::string key_of(const GroupMachine::State& state) {
  std::string key;
  const auto add = [&key](auto value) { key.push_back(static_cast<char>(value)); };
  for (const Machine::State& own : state.members) {
    for (const auto task : own.tasks) add(task);
    for (const auto message : own.messages) add(message);
    for (const int round : own.rounds) add(round);
    for (const auto& queue : own.queues) {
      for (const int m : queue) add(m);
      add(-1);
    }
  }
  for (const auto& log : state.agreed) {
    for (const auto& task : log) {
      add(task.lane);
      add(task.microbatch);
    }
    add(-1);
  }
  return key;
}

Explored explore(const GroupMachine& group, Chooser chooser, std::size_t most) {
  Explored found;
  std::unordered_set<std::string> seen;
  std::deque<GroupMachine::State> open{group.initial()};
  seen.insert(key_of(open.front()));
  for (; !open.empty(); open.pop_front()) {
    if (seen.size() > most) return found;
    const GroupMachine::State& state = open.front();
    found.sticks = found.sticks || group.stuck(state);
    found.parts = found.parts || parted(group, state);
    for (const Event& event : group.enabled(state, chooser)) {
      GroupMachine::State after = state;
      group.step(after, event);
      if (seen.insert(key_of(after)).second) open.push_back(std::move(after));
    }
  }
  found.complete = true;
  return found;
}

constexpr std::size_t kStates = 12'000;

testing_support::RandomProgramOptions small() {
  return {.max_ranks = 3,
          .max_chunks = 2,
          .max_microbatches = 3,
          .max_tasks = 6,
          .any_count = false,
          .broken_orders = false,
          .assertions = false,
          .groups = true};
}

// If each message has a slot, two members that agree deadlock exactly if one member alone does.
TEST(Group, sticks_just_when_one_member_does) {
  int compared = 0;
  int stuck = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string text = testing_support::random_program_text(seed, small());
    const Program program = compiled(text);
    if (program.tensor_parallel.members == 1) continue;
    if (program.tensor_parallel.agree == Agree::none) continue;
    const int m = program.microbatches.min;
    for (const Chooser chooser : {Chooser::any, Chooser::dispatch}) {
      const Explored one = explore(GroupMachine(program, m, 1), chooser, kStates);
      const Explored two = explore(GroupMachine(program, m, 2), chooser, kStates);
      if (!one.complete || !two.complete) continue;
      ++compared;
      stuck += one.sticks ? 1 : 0;
      EXPECT_EQ(one.sticks, two.sticks) << "seed " << seed << "\n" << text;
      EXPECT_FALSE(two.parts) << "seed " << seed << "\n" << text;
    }
  }
  std::cout << compared << " compared, " << stuck << " of them stick\n";
  EXPECT_GT(compared, 40);
  EXPECT_GT(stuck, 5);
}

// Gives the program two members per rank; every fourth op has no collectives.
std::string grouped(const std::string& text, std::uint64_t seed) {
  const std::string agree[] = {"intersection", "vote", "leader", "none"};
  std::string out;
  std::uint64_t op = seed;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    std::string line = text.substr(begin, end - begin);
    begin = end;
    if (line.starts_with("  op ") && ++op % 4 != 0) {
      line.insert(line.find('{') + 1, " collectives 1;");
    }
    out += line;
    if (line.starts_with("  microbatches")) {
      out += "  tensor_parallel 2 { agree by " + agree[seed % 4] + "; }\n";
    }
  }
  return out;
}

// With few slots, one exploration for all group sizes agrees with those for two and three members.
TEST(Group, every_size_at_once_is_each_size_by_itself) {
  testing_support::RandomProgramOptions options = small();
  options.links = options.once = options.before = true;
  options.groups = false;
  int compared = 0;
  int stuck = 0;
  int from_three = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const std::string text = grouped(testing_support::random_program_text(seed, options), seed);
    const Program program = compiled(text);
    if (program.tensor_parallel.agree == Agree::none || program.dispatch.in_order) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const int m = program.microbatches.min;
    bool sticks = false;
    for (const int members : {2, 3}) {
      const GroupMachine group(program, m, members);
      const Explored all = explore(group, Chooser::any, 4'000);
      if (!all.complete) continue;
      Budget budget{1'000'000};
      const EverySize::Result found = EverySize(group, budget).visit();
      EXPECT_EQ(all.sticks, !found.run.empty()) << members;
      EXPECT_EQ(all.sticks, found.fewest != 0 && found.fewest <= members) << members;
      EXPECT_TRUE(found.complete || !found.run.empty());
      if (!found.run.empty()) {
        const auto end = replayed(group, Chooser::any, found.run);
        ASSERT_TRUE(end);
        EXPECT_TRUE(group.stuck(*end));
      }
      ++compared;
      stuck += all.sticks ? 1 : 0;
      from_three += members == 3 && all.sticks && !sticks ? 1 : 0;
      sticks = all.sticks;
    }
  }
  std::cout << compared << " compared, " << stuck << " of them stick, " << from_three
            << " from three members on\n";
  EXPECT_GT(compared, 40);
  EXPECT_GT(stuck, 2);
}

TEST(Group, the_fewest_members_that_stick) {
  struct Row {
    std::string text;
    int microbatches;
    int fewest;  // 0 if no number of members deadlocks
  };
  const std::string inbox2 = "  channel inbox per stage { slots 2; }\n";
  const std::string inbox3 = "  channel inbox per stage { slots 3; }\n";
  const Row rows[] = {
      {chain("intersection"), 3, 0},
      {chain("leader", "via inbox", inbox3), 3, 0},
      {chain("leader", "via inbox", inbox2), 3, 2},
      {chain("intersection", "via slots 1"), 2, 2},
      {chain("intersection", "via slots 2"), 2, 0},
      {chain("intersection", "via slots 2"), 3, 3},
      {chain("vote", "via slots 2"), 3, 2},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text + std::to_string(row.microbatches) + " microbatches");
    const Program program = compiled(row.text);
    Budget budget{1'000'000};
    const GroupMachine group(program, row.microbatches, 2);
    const EverySize::Result found = EverySize(group, budget).visit();
    EXPECT_EQ(found.fewest, row.fewest);
    EXPECT_EQ(found.complete, row.fewest != 2) << "it stops where the two stick";
    EXPECT_EQ(found.run.empty(), row.fewest != 2);
  }
}

// With links and engines, and without agreement, verdicts agree with every state of two members.
TEST(Group, verdicts_of_random_programs_hold) {
  testing_support::RandomProgramOptions options = small();
  options.links = options.once = options.engines = options.before = true;
  options.groups = false;
  const char* asked = std::getenv("RIPELINE_GROUP_PROGRAMS");
  const std::uint64_t programs = asked == nullptr ? 250 : std::stoull(asked);
  int proved = 0;
  int refuted = 0;
  int open = 0;
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    const std::string text = grouped(testing_support::random_program_text(seed, options), seed);
    const Program program = compiled(text);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const Verdict verdict = verify(program, {.solver_steps = 10'000'000, .search_states = 50'000});
    const Obligation& deadlock = find(verdict, "deadlock");
    const Obligation& collectives = find(verdict, "collectives");
    if (deadlock.outcome == Outcome::refuted) replay(program, deadlock);
    if (collectives.outcome == Outcome::refuted) replay(program, collectives);
    refuted += deadlock.outcome == Outcome::refuted ? 1 : 0;
    open += deadlock.outcome == Outcome::unknown ? 1 : 0;
    if (deadlock.outcome != Outcome::proved && collectives.outcome != Outcome::proved) continue;
    const GroupMachine group(program, program.microbatches.min, 2);
    const Explored all = explore(group, Chooser::any, kStates);
    EXPECT_FALSE(deadlock.outcome == Outcome::proved && all.sticks);
    EXPECT_FALSE(collectives.outcome == Outcome::proved && all.parts);
    proved += deadlock.outcome == Outcome::proved && all.complete ? 1 : 0;
  }
  std::cout << proved << " proved and visited, " << refuted << " refuted, " << open << " open\n";
  EXPECT_GT(proved, 20);
  EXPECT_GT(refuted, 20);
}

}  // namespace
}  // namespace ripeline::verify::group_test
