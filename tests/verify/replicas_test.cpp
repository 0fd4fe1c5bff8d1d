// Tests replicas of a pipeline that reduce with each other: a small program for each rule, every
// state of random programs, and that each condition of the proof is necessary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "spec/elaborate.h"
#include "spec/group.h"
#include "spec/library.h"
#include "tests/support/random_program.h"
#include "tests/support/verdicts.h"
#include "verify/every_depth.h"
#include "verify/group/replica_judge.h"
#include "verify/judge/judge.h"
#include "verify/order/order_judge.h"
#include "verify/ready/ready_judge.h"
#include "verify/verify.h"

namespace ripeline::verify::replicas_test {
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

std::string with_ops(const std::string& ops, const std::string& dispatch = "dispatch ready;",
                     const std::string& microbatches = "any", int stages = 2) {
  return "pipeline p {\n  microbatches " + microbatches + ";\n  stages " + std::to_string(stages) +
         ";\n  place s on s;\n  data_parallel 2;\n" + ops + "  " + dispatch + "\n}\n";
}

constexpr const char* kForwardBackward =
    "  op F forward { needs F at prev; acquires a; }\n"
    "  op B backward { needs F at here, B at next; releases a; }\n"
    "  resource a per stage { capacity 2 - s; }\n";
const std::string kReduce = "  op G reduce once on comm { needs B at here of all; }\n";

Verdict verdict_of(const std::string& text) { return verify(compiled(text)); }

TEST(Replicas, are_proved_as_one_is) {
  const std::string chain = kForwardBackward + kReduce;
  for (const std::string& more :
       {std::string(), std::string("  op U user \"step\" once { needs G at here; }\n"),
        std::string("  op C user \"clip\" once { needs G at here, C at prev; }\n"
                    "  op U user \"step\" once { needs C at (stages - 1); }\n")}) {
    SCOPED_TRACE(more);
    const Verdict verdict = verdict_of(with_ops(chain + more));
    EXPECT_EQ(verdict.outcome, Outcome::proved) << find(verdict, "deadlock").reason;
    EXPECT_EQ(find(verdict, "deadlock").method, Method::counters);
    EXPECT_EQ(find(verdict, "collectives").method, Method::induction);
  }
  const Verdict without = verdict_of(with_ops(kForwardBackward));
  EXPECT_EQ(without.outcome, Outcome::proved);
  EXPECT_EQ(find(without, "collectives").method, Method::structure) << "nobody waits for another";
}

TEST(Replicas, keep_to_the_same_order) {
  const std::string order =
      "  order o on r { let w = min(1 - r, microbatches);  F * w;  (F B) * (microbatches - w);  "
      "B * w;  G; }\n";
  const Verdict verdict =
      verdict_of(with_ops(kForwardBackward + kReduce + order, "dispatch in order o;"));
  EXPECT_EQ(verdict.outcome, Outcome::proved) << find(verdict, "deadlock").reason;
  EXPECT_EQ(find(verdict, "collectives").method, Method::structure);
  EXPECT_EQ(find(verdict, "deadlock").method, Method::cuts);
}

TEST(Replicas, stick_as_one_does) {
  const std::string stuck =
      "  op F forward { needs F at prev; acquires a; }\n"
      "  op B backward { needs F at here, B at next; releases a; }\n"
      "  resource a per rank { capacity 2; }\n";
  std::string text = with_ops(stuck + kReduce, "dispatch ready;", "any", 4);
  text.replace(text.find("place s on s"), 12, "place s on s < 2 ? s : 3 - s");
  const Verdict verdict = verdict_of(text);
  const Obligation& deadlock = find(verdict, "deadlock");
  ASSERT_EQ(deadlock.outcome, Outcome::refuted) << deadlock.reason;
  EXPECT_EQ(find(verdict, "collectives").outcome, Outcome::proved);
}

TEST(Replicas, assume_that_all_run_the_program) {
  const Verdict verdict = verdict_of(with_ops(kForwardBackward + kReduce));
  const auto says = [&](const std::string& sentence) {
    return std::find(verdict.assumptions.begin(), verdict.assumptions.end(), sentence) !=
           verdict.assumptions.end();
  };
  EXPECT_TRUE(says("2 replicas run this program, each all of it, with as many microbatches."));
  EXPECT_TRUE(says("A reduction ends once every replica has started it."));
  EXPECT_TRUE(says("Each engine has a communicator of its own for reductions among replicas."));
  EXPECT_TRUE(says("What a replica publishes in a round reaches every replica."));
  EXPECT_TRUE(says("Collectives of other groups (expert) are outside, or in a fixed order."));
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

// The collectives that each engine of each replica has started, in order. differ() tells whether
// two replicas disagree.
using Started = std::vector<std::vector<spec::Task>>;
bool differ(const Started& started, std::size_t engines) {
  for (std::size_t i = 0; i + engines < started.size(); ++i) {
    const auto& one = started[i];
    const auto& other = started[i + engines];
    const std::size_t both = std::min(one.size(), other.size());
    if (!std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(both), other.begin())) {
      return true;
    }
  }
  return false;
}

// The machine has one member per replica, or one replica with several members.
Explored explore(const GroupMachine& group, Chooser chooser, std::size_t most) {
  struct Open {
    GroupMachine::State state;
    Started started;
  };
  const Program& program = group.program();
  const std::size_t engines = static_cast<std::size_t>(program.ranks) * spec::kEngines;
  const auto key = [&](const Open& open) {
    std::string text = key_of(open.state);
    for (const auto& tasks : open.started) {
      for (const auto& task : tasks)
        text += std::to_string(task.lane) + "." + std::to_string(task.microbatch) + ",";
      text += ';';
    }
    return text;
  };
  Explored found;
  std::unordered_set<std::string> seen;
  std::deque<Open> open;
  open.push_back({group.initial(), Started(engines * static_cast<std::size_t>(group.all()))});
  for (; !open.empty(); open.pop_front()) {
    if (seen.size() > most) return found;
    const Open& now = open.front();
    found.sticks = found.sticks || group.stuck(now.state);
    found.parts = found.parts || differ(now.started, engines);
    for (const Event& event : group.enabled(now.state, chooser)) {
      Open after = now;
      group.step(after.state, event);
      const spec::Lane& lane = at(program.lanes, event.lane);
      if (event.what == Event::Do::start && (lane.collectives > 0 || program.reduces(event.lane))) {
        after
            .started[static_cast<std::size_t>(event.member) * engines +
                     spec::engine_index(lane.rank, lane.engine)]
            .push_back({event.lane, event.microbatch});
      }
      if (seen.insert(key(after)).second) open.push_back(std::move(after));
    }
  }
  found.complete = true;
  return found;
}

constexpr std::size_t kStates = 12'000;

Explored explored(const Program& program, int microbatches, std::size_t most = kStates) {
  const GroupMachine replicas(program, microbatches, program.tensor_parallel.members,
                              program.data_parallel.replicas);
  return explore(replicas, Chooser::any, most);
}

// The verdict of ReplicaJudge without the conditions that it adds for several replicas.
Verdict without_conditions(const Program& program, const VerifyOptions& options = {}) {
  std::unique_ptr<Judge> one;
  if (program.dispatch.in_order) {
    one = std::make_unique<OrderJudge>(program, options);
  } else {
    one = std::make_unique<ReadyJudge>(program, options);
  }
  ReplicaJudge judge(program, options, std::move(one), std::nullopt);
  return judged_by(judge, program);
}

// --- the conditions, one by one ---

struct Condition {
  std::string name;
  std::string text;
  int microbatches;
  std::string reason;
  std::function<void(Program&)> change = [](Program&) {};
};

// Makes a program that no text can give: other tasks run on the engine of a reduction.
void reduce_on_compute(Program& program) {
  for (spec::Lane& lane : program.lanes) lane.engine = Engine::compute;
}

std::vector<Condition> conditions() {
  return {
      {"an engine with reductions has nothing else",
       with_ops("  op F forward { needs F at prev; acquires a; }\n"
                "  op B backward { needs F at here, B at next; }\n"
                "  op W backward weight { needs B at here, W at prev; releases a; }\n"
                "  op G reduce once on comm when s == 0 { needs B at here of all; }\n"
                "  resource a per stage { capacity 2 - s; }\n",
                "dispatch ready;", "2"),
       2, "0G waits for the other replicas on the engine of 0F.", reduce_on_compute},
      {"reductions take from no pool",
       with_ops("  op G reduce on comm { acquires a; releases a; }\n"
                "  op H reduce on copy_out { acquires a; releases a; }\n"
                "  resource a per stage { capacity 1; }\n",
                "dispatch ready;", "1", 1),
       1,
       "0G waits for other replicas and acquires a of stage 0, which tasks may need that those "
       "replicas wait for."},
      {"reductions give nothing back",
       with_ops("  op F forward { acquires a; }\n"
                "  op G reduce on comm { needs F at here; releases a; }\n"
                "  resource a per stage { capacity 1; }\n",
                "dispatch ready;", "2", 1),
       2,
       "0G waits for other replicas and releases a of stage 0, which tasks may need that those "
       "replicas wait for."},
      {"what needs reductions gives nothing back",
       with_ops("  op F forward { acquires a; }\n"
                "  op G reduce on comm { needs F at here; }\n"
                "  op U user \"step\" { needs G at here; releases a; }\n"
                "  resource a per stage { capacity 1; }\n",
                "dispatch ready;", "2", 1),
       2,
       "0U waits for other replicas and releases a of stage 0, which tasks may need that those "
       "replicas wait for."},
      {"messages to reductions have slots of their own",
       with_ops("  op F forward { }\n"
                "  op G reduce on comm when s > 0 { needs F at prev via slots 1; }\n",
                "dispatch ready;", "2"),
       2, "1G waits for other replicas, and its messages take the slots from 0F to 1G."},
      {"a committed order leaves a pool to one engine",
       with_ops("  op X forward { acquires a; }\n"
                "  op G reduce on comm { needs X at here; releases a; }\n"
                "  op Y forward on copy_out { acquires a; }\n"
                "  op H reduce on copy_in { needs Y at here; releases a; }\n"
                "  resource a per stage { capacity 1; }\n"
                "  order o on r { X; G; Y; H; }\n",
                "dispatch in order o;", "1", 1),
       1,
       "a of stage 0 is acquired on several engines, so timing may give it to different tasks at "
       "different replicas."},
  };
}

TEST(Replicas, are_not_proved_where_a_condition_of_the_proof_is_missing) {
  for (const Condition& condition : conditions()) {
    SCOPED_TRACE(condition.name + "\n" + condition.text);
    Program program = compiled(condition.text);
    condition.change(program);
    const Verdict verdict = verify(program);
    const Obligation& deadlock = find(verdict, "deadlock");
    EXPECT_EQ(deadlock.outcome, Outcome::unknown);
    EXPECT_EQ(deadlock.reason, "One replica alone does not deadlock. " + condition.reason);
  }
}

// Each condition is necessary: without it the judge proves a program that deadlocks.
TEST(Replicas, stick_where_a_condition_of_the_proof_is_missing) {
  for (const Condition& condition : conditions()) {
    SCOPED_TRACE(condition.name + "\n" + condition.text);
    Program program = compiled(condition.text);
    condition.change(program);
    const Verdict mistaken = without_conditions(program);
    EXPECT_EQ(find(mistaken, "deadlock").outcome, Outcome::proved);
    EXPECT_TRUE(explored(program, condition.microbatches, 10 * kStates).sticks);
  }
}

// Two replicas with two members each. A reduction joins the members of the same number.
TEST(Replicas, of_groups_are_proved_where_members_agree_on_nothing_that_reduces) {
  const auto text = [](const std::string& step) {
    return "pipeline p {\n  microbatches 1 .. 8;\n  stages 1;\n  place s on s;\n"
           "  tensor_parallel 2 { agree by intersection; }\n  data_parallel 2;\n"
           "  op F forward { acquires a; collectives 1; }\n"
           "  op B backward { needs F at here; releases a; collectives 1; }\n"
           "  op G reduce once on comm { needs B at here of all; }\n" +
           step + "  resource a per stage { capacity 1; }\n  dispatch ready;\n}\n";
  };
  const Program program = compiled(text(""));
  const Verdict verdict = verify(program);
  EXPECT_EQ(verdict.outcome, Outcome::proved) << find(verdict, "deadlock").reason;
  EXPECT_EQ(find(verdict, "collectives").method, Method::induction);
  const Explored all = explored(program, 1);
  EXPECT_TRUE(all.complete);
  EXPECT_FALSE(all.sticks);
  const Verdict open =
      verdict_of(text("  op U user \"step\" once { needs G at here; collectives 1; }\n"));
  EXPECT_EQ(find(open, "deadlock").outcome, Outcome::unknown);
  EXPECT_EQ(find(open, "deadlock").reason,
            "One replica alone does not deadlock. 0U waits for other replicas, on an engine with "
            "collectives of members.");
}

// --- random programs ---

// Two replicas. The program's sum, or else its op P, becomes a reduction on an engine of its own;
// otherwise each forward gets a reduction. Some programs need a reduction's result, or room for it.
std::string replicated(const std::string& text, std::uint64_t seed) {
  const bool sums = text.find("  op G ") != std::string::npos;
  const bool each = !sums && text.find("  op P ") == std::string::npos;
  const bool lasting = each && seed % 4 < 2;  // from the forward to the forward's reduction
  std::string out;
  std::string more;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    std::string line = text.substr(begin, end - begin);
    begin = end;
    if (line.starts_with("  op G ")) {
      const std::size_t from = line.find("G ") + 2;
      line.replace(from, line.find(" {") - from, "reduce once on comm");
      if (seed % 5 == 1) line.insert(line.find('}'), "acquires room;  releases room; ");
      if (seed % 3 == 0) more += "  op U user \"step\" once { needs G at here; }\n";
    } else if (line.starts_with("  op P ") && !sums) {
      const bool sequential = line.starts_with("  op P sequential");
      line.replace(7, sequential ? 11 : 0,
                   sequential ? "reduce sequential on comm" : "reduce on comm ");
    } else if (line.starts_with("  op F ") && lasting) {
      line.insert(line.find('{') + 1, " acquires room;");
    }
    out += line;
    if (line.starts_with("  microbatches")) out += "  data_parallel 2;\n";
  }
  if (each) {
    more += std::string("  op Q reduce on comm { needs F at here;") +
            (lasting ? " releases room;" : "") + " }\n";
  }
  if ((out + more).find("room;") != std::string::npos) {
    more += "  resource room per " + std::string(seed % 2 == 0 ? "rank" : "stage") +
            " { capacity " + std::to_string(1 + seed % 4 / 3) + "; }\n";
  }
  return out.insert(out.rfind("}\n"), more);
}

// The same program with two members that do not agree, so that each starts whatever is ready.
Program without_agreement(Program program) {
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    at(program.lanes, lane).collectives = program.reduces(lane) ? 1 : 0;
  }
  program.data_parallel = {};
  program.tensor_parallel = {.members = 2, .agree = Agree::none};
  return program;
}

struct Tally {
  int proved = 0;
  int refuted = 0;
  int open = 0;
  int mistaken = 0;  // programs that deadlock, but are proved without the conditions
  int apart = 0;     // proved programs whose members part without agreement
};

void judge(const Program& program, Tally& tally) {
  const int m = program.microbatches.min;
  const VerifyOptions options{.solver_steps = 10'000'000, .search_states = 20'000};
  const Verdict verdict = verify(program, options);
  const Outcome deadlock = find(verdict, "deadlock").outcome;
  EXPECT_EQ(find(verdict, "collectives").outcome, Outcome::proved);
  ++(deadlock == Outcome::proved    ? tally.proved
     : deadlock == Outcome::refuted ? tally.refuted
                                    : tally.open);
  const Explored all = explored(program, m);
  EXPECT_FALSE(all.parts);
  EXPECT_FALSE(deadlock == Outcome::proved && all.sticks);
  EXPECT_FALSE(deadlock == Outcome::refuted && all.complete && !all.sticks);
  if (all.sticks && deadlock == Outcome::unknown) {
    const Verdict mistaken = without_conditions(program, options);
    tally.mistaken += find(mistaken, "deadlock").outcome == Outcome::proved ? 1 : 0;
  }
  if (program.dispatch.in_order) return;
  const Program alone = without_agreement(program);
  const Explored each = explore(GroupMachine(alone, m, 2), Chooser::any, kStates);
  const Verdict of_each = verify(alone, options);
  EXPECT_FALSE(find(of_each, "deadlock").outcome == Outcome::proved && each.sticks);
  EXPECT_FALSE(find(of_each, "collectives").outcome == Outcome::proved && each.parts);
  tally.apart += deadlock == Outcome::proved && each.parts ? 1 : 0;
}

TEST(Replicas, verdicts_of_random_programs_hold) {
  const char* asked = std::getenv("RIPELINE_REPLICA_PROGRAMS");
  const std::uint64_t programs = asked == nullptr ? 200 : std::stoull(asked);
  Tally tally;
  int drawn = 0;
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    // Either one rank with more tasks, or two ranks with fewer tasks.
    const bool narrow = seed % 2 == 0;
    testing_support::RandomProgramOptions options{.max_ranks = narrow ? 1 : 2,
                                                  .max_chunks = narrow ? 1 : 2,
                                                  .max_microbatches = 3,
                                                  .max_tasks = narrow ? 6 : 5,
                                                  .any_count = false,
                                                  .broken_orders = false,
                                                  .assertions = false};
    options.links = options.once = options.before = options.shares = true;
    const std::string text = replicated(testing_support::random_program_text(seed, options), seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const auto program = spec::compile({"random.ripe", text});
    // A committed order does not list the added op, and no room is kept for an op on comm.
    if (!program.ok() || (program.value().dispatch.in_order && text.find("op G") > text.size())) {
      continue;
    }
    ++drawn;
    judge(program.value(), tally);
  }
  std::cout << drawn << " programs: " << tally.proved << " proved, " << tally.refuted
            << " refuted, " << tally.open << " open; " << tally.mistaken
            << " would be proved wrongly without the conditions, " << tally.apart
            << " part without agreement\n";
  EXPECT_GT(tally.proved, 20);
  EXPECT_GT(tally.refuted, 2);
  EXPECT_GT(tally.mistaken, 0);
  EXPECT_GT(tally.apart, 0);
}

// Two replicas of two members each, with each way to agree; every fourth op has no collectives.
std::string grouped(const std::string& text, std::uint64_t seed) {
  const std::string agree[] = {"intersection", "vote", "leader"};
  std::string out;
  std::uint64_t op = seed;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    std::string line = text.substr(begin, end - begin);
    begin = end;
    if (line.starts_with("  op ") && line.find(" reduce ") > line.size() && ++op % 4 != 0) {
      line.insert(line.find('{') + 1, " collectives 1;");
    }
    out += line;
    if (line.starts_with("  microbatches")) {
      out += "  tensor_parallel 2 { agree by " + agree[seed % 3] + "; }\n";
    }
  }
  return out;
}

TEST(Replicas, of_random_groups_are_not_proved_where_they_stick) {
  int proved = 0;
  int complete = 0;
  int open = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const testing_support::RandomProgramOptions options{.max_ranks = 2,
                                                        .max_chunks = 1,
                                                        .max_microbatches = 2,
                                                        .max_tasks = 3,
                                                        .any_count = false,
                                                        .orders = false,
                                                        .broken_orders = false,
                                                        .assertions = false,
                                                        .once = true};
    const std::string text =
        grouped(replicated(testing_support::random_program_text(seed, options), seed), seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const Program program = compiled(text);
    const Verdict verdict = verify(program, {.solver_steps = 10'000'000, .search_states = 20'000});
    const Outcome deadlock = find(verdict, "deadlock").outcome;
    open += deadlock == Outcome::unknown ? 1 : 0;
    if (deadlock != Outcome::proved) continue;
    const Explored all = explored(program, program.microbatches.min);
    EXPECT_FALSE(all.sticks);
    ++proved;
    complete += all.complete ? 1 : 0;
  }
  std::cout << proved << " proved, of " << complete << " every state was visited; " << open
            << " open\n";
  EXPECT_GT(proved, 10);
  EXPECT_GT(complete, 3);
}

}  // namespace
}  // namespace ripeline::verify::replicas_test
