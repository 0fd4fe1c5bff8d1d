// Tests that each possible mistake of the encoding changes the verdict on a named program.
#include <gtest/gtest.h>

#include <string>

#include "spec/elaborate.h"
#include "spec/indexing.h"
#include "tests/support/mistakes.h"
#include "tests/support/programs.h"
#include "verify/verdict.h"

namespace ripeline::verify {
namespace {

namespace mistakes = testing_support::mistakes;

using testing_support::chain_of;
using testing_support::chain_text;
using testing_support::join_text;
using testing_support::join_via;
using testing_support::judged_with;
using testing_support::Mistake;
using testing_support::order_via;
using testing_support::v_text;

struct Mutant {
  std::string name;
  Mistake mistake;
  std::string text;
  std::string obligation;
  std::string right;  // without the mistake: verdict, method and fewest microbatches
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string asserting(std::string text, const std::string& bound) {
  return text.insert(text.rfind("}\n"), "  assert peak activation <= " + bound + ";\n");
}

// B is sequential, but F may run out of order; with room for one, the wrong microbatch may take it.
std::string sequence_text() {
  return replaced(chain_text(2, "ready by bf", "2", "2 - s"), "op B backward",
                  "op B backward sequential");
}

// R acquires room that reloads leave free, but that forwards do not leave.
std::string reload_text() {
  return chain_of(R"(
  op F forward { needs F at prev;  acquires a 4; }
  op O offload on copy_out { needs F at here;  releases a 4; }
  op L reload on copy_in { needs O at here, B at next;  acquires a leaving 3; }
  op R recompute { needs L at here;  acquires a 3; }
  op B backward { needs R at here;  releases a 4; }
)",
                  "4");
}

// Every second microbatch is offloaded; the others stay.
std::string second_text() {
  return chain_of(R"(
  op F forward { needs F at prev;  acquires a; }
  op O offload on copy_out on m where m % 2 == 0 { needs F at here;  releases a; }
  op L reload on copy_in on m where m % 2 == 0 { needs O at here;  acquires a leaving 1; }
  op B backward { needs F at here, L at here, B at next;  releases a; }
)",
                  "3");
}

// Every second microbatch holds room from its backward to the end of the probe P.
std::string watched_text() {
  return chain_of(R"(
  op F forward { needs F at prev; }
  op B backward on m where m % 2 == 0 { needs F at here, B at next;  acquires a; }
  op P user "probe" on m where m % 2 == 0 { needs B at here;  releases a; }
)",
                  "3");
}

std::string verdict_text(const Mutant& mutant, const Mistake& mistake) {
  const auto program = spec::compile({"mutant.ripe", mutant.text});
  EXPECT_TRUE(program.ok()) << spec::render({"mutant.ripe", mutant.text}, program.errors());
  const Verdict verdict =
      judged_with(mistake, program.value(), {.solver_steps = 20'000'000, .search_states = 20'000});
  for (const Obligation& o : verdict.obligations) {
    if (name_of(o.kind) != mutant.obligation) continue;
    std::string text = name_of(o.outcome) + " " + name_of(o.method);
    if (o.counterexample) text += " " + std::to_string(o.counterexample->microbatches);
    for (const auto& [resource, peaks] : o.peak) {
      for (const auto& peak : peaks) text += " " + (peak ? std::to_string(peak->bound) : "-");
    }
    return text;
  }
  return {};
}

TEST(Mutants, each_mistake_in_the_encoding_is_noticed) {
  const std::string v = v_text(4, true);
  const std::string greedy_v = v_text(4, false);
  const std::string bf = chain_text(4, "ready by bf");
  const std::string single = chain_text(3, "ready by bf", "any", "1");
  const std::string double_v = replaced(v_text(4, false, "4"), "s activation;", "s activation 2;");
  const std::vector<Mutant> mutants = {
      {"a swapped release", mistakes::swapped_release(), greedy_v, "deadlock",
       "refuted counters 8"},
      {"a swapped release, peaks", mistakes::swapped_release(), bf, "memory",
       "proved counters 4 3 2 1"},
      {"a missing release", mistakes::missing_release(), bf, "deadlock", "proved counters"},
      {"a capacity one too large", mistakes::capacities(1), greedy_v, "deadlock",
       "refuted counters 8"},
      {"a capacity one too large, one count", mistakes::capacities(1), v_text(4, false, "8"),
       "deadlock", "refuted counters 8"},
      {"a capacity one too large, peaks", mistakes::capacities(1), asserting(bf, "4 - s"), "memory",
       "proved counters 4 3 2 1"},
      {"a capacity one too small", mistakes::capacities(-1), single, "deadlock", "proved counters"},
      {"a capacity one too small, peaks", mistakes::capacities(-1), bf, "memory",
       "proved counters 4 3 2 1"},
      {"a dropped guard: room", mistakes::dropped_room(), greedy_v, "deadlock",
       "refuted counters 8"},
      {"a dropped guard: need", mistakes::dropped_need(), greedy_v, "deadlock",
       "refuted counters 8"},
      {"a need the other way around", mistakes::reversed_need(), bf, "deadlock", "proved counters"},
      {"leaving ignored", mistakes::ignored_leaving(), v, "deadlock", "proved counters"},
      {"amounts ignored", mistakes::amounts_of_one(), double_v, "deadlock", "refuted counters 4"},
      {"joins taken for chains", mistakes::taken_for_exact(), join_text(false, "4", 2), "deadlock",
       "unknown states"},
      {"sequences taken for chains", mistakes::taken_for_exact(), sequence_text(), "deadlock",
       "refuted counters 2"},
      {"an invariant that need not hold", mistakes::assumed_room(), bf, "deadlock",
       "proved counters"},
      {"room that is left free, forgotten", mistakes::reserve_forgotten(), reload_text(),
       "deadlock", "proved counters"},
      {"room that need not be left free", mistakes::assumed_reserve(), reload_text(), "deadlock",
       "proved counters"},
      {"classes of microbatches, forgotten", mistakes::classes_forgotten(), second_text(),
       "deadlock", "proved counters"},
      {"a class that takes no room", mistakes::free_class(), watched_text(), "memory",
       "proved counters 3 3 3 3"},
      {"messages of other microbatches taken to arrive in order", mistakes::overtaking_forgotten(),
       chain_of(R"(
  op F forward sequential { needs F at prev; }
  op B user "probe" sequential on m where m % 2 == 0 { needs F at prev via slots 1; }
)"),
       "deadlock", "refuted counters 3"},
      {"a lane that is not asked", mistakes::one_lane_forgotten(), bf, "deadlock",
       "proved counters"},
      {"a place in an order that is not looked at", mistakes::place_forgotten(),
       chain_text(4, "in order waits"), "deadlock", "refuted cuts 1"},
      {"an order that counts its next task", mistakes::counts_ahead(),
       chain_text(4, "in order one_f_one_b"), "deadlock", "proved cuts"},
      {"an order without guards for room", mistakes::dropped_room(),
       chain_text(4, "in order gpipe"), "deadlock", "refuted cuts 2"},
      {"a range that begins at 1", mistakes::range_from_one(),
       asserting(chain_text(2, "in order one_f_one_b", "3 .. 9", ""), "microbatches - 1"), "memory",
       "proved cuts 2 1"},
      {"a bound one too large", mistakes::bounds(1), asserting(bf, "3"), "memory",
       "refuted counters 4"},
      {"a bound one too large, of an order", mistakes::bounds(1),
       asserting(chain_text(4, "in order one_f_one_b"), "3"), "memory", "refuted cuts 4"},
      {"an inbox with a slot more", mistakes::slots(1), join_via("sequential", "via slots 3"),
       "deadlock", "refuted counters 4"},
      {"inboxes that are not looked at", mistakes::slots_forgotten(),
       join_via("sequential", "via slots 2"), "deadlock", "refuted counters 3"},
      {"messages of slots taken to arrive in order", mistakes::overtaking_forgotten(),
       join_via("sequential", "via slots 2"), "deadlock", "refuted counters 3"},
      {"an inbox of an order with a slot more", mistakes::slots(2), order_via("slots 2", "any"),
       "deadlock", "refuted cuts 3"},
      {"inboxes of an order that are not looked at", mistakes::slots_forgotten(),
       order_via("slots 2", "any"), "deadlock", "refuted cuts 3"},
  };
  for (const Mutant& mutant : mutants) {
    EXPECT_EQ(verdict_text(mutant, Mistake{}), mutant.right) << mutant.name;
    EXPECT_NE(verdict_text(mutant, mutant.mistake), mutant.right)
        << mutant.name << " is not noticed";
  }
}

}  // namespace
}  // namespace ripeline::verify
