// Each mistake that could be made in the encoding is noticed by the verdict on a named program.
#include <gtest/gtest.h>

#include <string>

#include "spec/elaborate.h"
#include "spec/indexing.h"
#include "tests/support/programs.h"
#include "verify/judge/fault.h"
#include "verify/judge/judge_with.h"
#include "verify/verdict.h"

namespace ripeline::verify {
namespace {

using testing_support::chain_text;
using testing_support::join_text;
using testing_support::v_text;

struct Mutant {
  std::string name;
  Fault fault;
  std::string text;
  std::string obligation;
  std::string right;  // verdict, method and the fewest microbatches, without the mistake
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

// B in sequence behind an F that overtakes: with room for one, the wrong microbatch may take it.
std::string sequence_text() {
  return replaced(chain_text(2, "ready by bf", "2", "2 - s"), "op B backward",
                  "op B backward sequential");
}

std::string verdict_text(const Mutant& mutant, Fault fault) {
  const auto program = spec::compile({"mutant.ripe", mutant.text});
  EXPECT_TRUE(program.ok()) << spec::render({"mutant.ripe", mutant.text}, program.errors());
  const Verdict verdict =
      judge_with(program.value(), {.solver_steps = 20'000'000, .search_states = 20'000}, fault);
  for (const Obligation& o : verdict.obligations) {
    if (o.name != mutant.obligation) continue;
    std::string text = name_of(o.outcome) + " " + o.method;
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
      {"a swapped release", Fault::swapped_release, greedy_v, "deadlock", "refuted counters 8"},
      {"a swapped release, peaks", Fault::swapped_release, bf, "memory", "proved counters 4 3 2 1"},
      {"a missing release", Fault::missing_release, bf, "deadlock", "proved counters"},
      {"a capacity one too large", Fault::capacity_too_large, greedy_v, "deadlock",
       "refuted counters 8"},
      {"a capacity one too large, one count", Fault::capacity_too_large, v_text(4, false, "8"),
       "deadlock", "refuted counters 8"},
      {"a capacity one too large, peaks", Fault::capacity_too_large, asserting(bf, "4 - s"),
       "memory", "proved counters 4 3 2 1"},
      {"a capacity one too small", Fault::capacity_too_small, single, "deadlock",
       "proved counters"},
      {"a capacity one too small, peaks", Fault::capacity_too_small, bf, "memory",
       "proved counters 4 3 2 1"},
      {"a dropped guard: room", Fault::dropped_room, greedy_v, "deadlock", "refuted counters 8"},
      {"a dropped guard: need", Fault::dropped_need, greedy_v, "deadlock", "refuted counters 8"},
      {"a need the other way around", Fault::reversed_need, bf, "deadlock", "proved counters"},
      {"leaving ignored", Fault::ignored_leaving, v, "deadlock", "proved counters"},
      {"amounts ignored", Fault::amount_of_one, double_v, "deadlock", "refuted counters 4"},
      {"joins taken for chains", Fault::joins_as_chains, join_text(false, "4", 2), "deadlock",
       "unknown states"},
      {"sequences taken for chains", Fault::sequence_as_chains, sequence_text(), "deadlock",
       "refuted counters 2"},
      {"an invariant that need not hold", Fault::assumed_room, bf, "deadlock", "proved counters"},
      {"a lane that is not asked", Fault::one_lane_forgotten, bf, "deadlock", "proved counters"},
      {"a place in an order that is not looked at", Fault::order_place_forgotten,
       chain_text(4, "in order waits"), "deadlock", "refuted cuts 1"},
      {"an order that counts its next task", Fault::order_counts_ahead,
       chain_text(4, "in order one_f_one_b"), "deadlock", "proved cuts"},
      {"an order without guards for room", Fault::order_room_forgotten,
       chain_text(4, "in order gpipe"), "deadlock", "refuted cuts 2"},
      {"a range that begins at 1", Fault::range_from_one,
       asserting(chain_text(2, "in order one_f_one_b", "3 .. 9", ""), "microbatches - 1"), "memory",
       "proved cuts 2 1"},
      {"a bound one too large", Fault::bound_too_large, asserting(bf, "3"), "memory",
       "refuted counters 4"},
      {"a bound one too large, of an order", Fault::bound_too_large,
       asserting(chain_text(4, "in order one_f_one_b"), "3"), "memory", "refuted cuts 4"},
  };
  for (const Mutant& mutant : mutants) {
    EXPECT_EQ(verdict_text(mutant, Fault::none), mutant.right) << mutant.name;
    EXPECT_NE(verdict_text(mutant, mutant.fault), mutant.right) << mutant.name << " is not noticed";
  }
}

}  // namespace
}  // namespace ripeline::verify
