// Tests the generated headers of a few schedules: their complete text, and that they agree with the
// interpreter in every state that occurs. RIPELINE_ACCEPT=1 rewrites the texts.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/generate.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "tests/codegen/goldens/bf.h"
#include "tests/codegen/goldens/by_rank.h"
#include "tests/codegen/goldens/file_hint.h"
#include "tests/codegen/goldens/file_order.h"
#include "tests/codegen/goldens/group.h"
#include "tests/codegen/goldens/interleaved.h"
#include "tests/codegen/goldens/kept.h"
#include "tests/codegen/goldens/one_f_one_b.h"
#include "tests/codegen/goldens/prefer.h"
#include "tests/codegen/goldens/replicas.h"
#include "tests/codegen/goldens/turns.h"
#include "tests/codegen/goldens/two_ways.h"
#include "tests/codegen/goldens/uneven.h"
#include "tests/codegen/goldens/valued.h"
#include "tests/codegen/goldens/zbv.h"
#include "tests/support/arbiter_walk.h"
#include "tests/support/state_walk.h"
#include "validate/probe/probe.h"
#include "verify/verify.h"

namespace ripeline::codegen {
namespace {

constexpr std::uint64_t kSeed = 20240607;

struct Golden {
  const char* name;
  const core::ProgramFacts* facts;
  std::unique_ptr<core::Arbiter> (*make)(int rank);
};

const Golden kGoldens[] = {
    {"one_f_one_b", &one_f_one_b::facts, one_f_one_b::make_arbiter},
    {"bf", &bf::facts, bf::make_arbiter},
    {"zbv", &zbv::facts, zbv::make_arbiter},
    {"prefer", &prefer::facts, prefer::make_arbiter},
    {"two_ways", &two_ways::facts, two_ways::make_arbiter},
    {"uneven", &uneven::facts, uneven::make_arbiter},
    {"interleaved", &interleaved::facts, interleaved::make_arbiter},
    {"by_rank", &by_rank::facts, by_rank::make_arbiter},
    {"kept", &kept::facts, kept::make_arbiter},
    {"file_order", &file_order::facts, file_order::make_arbiter},
    {"file_hint", &file_hint::facts, file_hint::make_arbiter},
    {"group", &group::facts, group::make_arbiter},
    {"replicas", &replicas::facts, replicas::make_arbiter},
    {"turns", &turns::facts, turns::make_arbiter},
    {"valued", &valued::facts, valued::make_arbiter},
};

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

std::string path_of(const Golden& golden, const char* suffix) {
  return fmt::format("{}/tests/codegen/goldens/{}{}", RIPELINE_SOURCE_DIR, golden.name, suffix);
}

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

verify::Verdict verdict_of(const Golden& golden) {
  const spec::Source source{fmt::format("{}.ripe", golden.name), read(path_of(golden, ".ripe"))};
  spec::ElaborateOptions options;
  options.read_file = [](const std::string& file) {
    return read(RIPELINE_SOURCE_DIR "/tests/codegen/goldens/" + file);
  };
  const spec::Result<spec::Program> program = spec::compile(source, options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : spec::render(source, program.errors()));
  return verify::verify(program.value());
}

class Goldens : public testing::TestWithParam<Golden> {};

TEST_P(Goldens, are_what_the_generator_writes) {
  const std::string name = GetParam().name;
  const verify::Verdict verdict = verdict_of(GetParam());
  ASSERT_TRUE(verdict.proved.has_value());
  const std::string text =
      generate(*verdict.proved,
               {.name = name,
                .file = name + ".ripe",
                .command = fmt::format("ripeline generate {0}.ripe --name {0} -o {0}.h", name)});
  if (std::getenv("RIPELINE_ACCEPT") != nullptr) std::ofstream(path_of(GetParam(), ".h")) << text;
  EXPECT_EQ(text, read(path_of(GetParam(), ".h")));
}

TEST_P(Goldens, agree_with_the_interpreter_in_every_state_met) {
  const verify::Verdict verdict = verdict_of(GetParam());
  ASSERT_TRUE(verdict.proved.has_value());
  const spec::Program& program = verdict.proved->program();
  const core::OwnedFacts storage = lower::facts_of(*verdict.proved);
  std::int64_t states = 0;
  for (int rank = 0; rank < program.ranks; ++rank) {
    simulate::InterpretedArbiter interpreted(program, storage.facts(), rank);
    const std::unique_ptr<core::Arbiter> generated = GetParam().make(rank);
    testing_support::ArbiterWalk walk(interpreted, *generated,
                                      kSeed + static_cast<std::uint64_t>(rank));
    for (int microbatches : {1, 2, 3, 5, 8, 13, 5, 65, 70}) {
      microbatches = std::min(microbatches, program.microbatches.max.value_or(microbatches));
      microbatches = std::max(microbatches, program.microbatches.min);
      EXPECT_EQ(walk.run(microbatches), "") << "seed " << kSeed;
    }
    states += walk.states();
  }
  EXPECT_GT(states, 500);
}

TEST_P(Goldens, have_the_facts_of_their_program) {
  const verify::Verdict verdict = verdict_of(GetParam());
  ASSERT_TRUE(verdict.proved.has_value());
  const core::OwnedFacts storage = lower::facts_of(*verdict.proved);
  const core::ProgramFacts& facts = *GetParam().facts;
  EXPECT_EQ(validate::facts_text(facts), validate::facts_text(storage.facts()));
  EXPECT_TRUE(facts.proved);
  ASSERT_EQ(facts.pools.size(), storage.facts().pools.size());
  for (std::size_t i = 0; i < facts.pools.size(); ++i) {
    EXPECT_EQ(facts.pools[i].bound, storage.facts().pools[i].bound) << i;
  }
}

TEST_P(Goldens, agree_with_the_interpreter_in_every_state_of_small_sizes) {
  const verify::Verdict verdict = verdict_of(GetParam());
  ASSERT_TRUE(verdict.proved.has_value());
  const testing_support::WalkedStates walked =
      testing_support::walk_states(verdict.proved->program(), GetParam().make,
                                   {.counts = 2, .states_of_rank = 2'000, .states = 10'000});
  EXPECT_EQ(walked.difference, "");
  EXPECT_GE(walked.states, 50);
}

INSTANTIATE_TEST_SUITE_P(Codegen, Goldens, testing::ValuesIn(kGoldens),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Generate, writes_guards_for_any_kind_of_number) {
  const auto h = [](const char* name) { return validate::Formula::named(name); };
  EXPECT_EQ(bf::admits_F(h("held"), 4).text(), "held <= 3");
  EXPECT_EQ(zbv::admits_F(h("held"), 1).text(), "held <= 6");
  EXPECT_EQ(prefer::admits_F(h("a"), 2, 3, 9, h("s")).text(), "a <= 4 and s <= 3");
  static_assert(bf::admits_F(3, 4) && !bf::admits_F(4, 4));
  constexpr std::int64_t kFull[] = {4, 2, 2, 1};
  static_assert(!bf::Rules::has_room(0, kFull) && bf::Rules::has_room(1, kFull) &&
                bf::Rules::has_room(2, kFull));
}

TEST(Generate, says_so_when_nothing_was_proved) {
  const Golden& golden = kGoldens[1];
  const spec::Source source{"bf.ripe", read(path_of(golden, ".ripe"))};
  const std::string text = generate_unproved(spec::compile(source).value(),
                                             {.name = "bf", .file = "bf.ripe", .command = ""});
  EXPECT_NE(text.find("// NOT PROVED"), std::string::npos);
  EXPECT_NE(text.find(".proved = false"), std::string::npos);
  EXPECT_EQ(text.find("Proved, for"), std::string::npos);
}

TEST(Generate, stays_under_200_lines_for_bf) {
  const std::string text = read(path_of(kGoldens[1], ".h"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 200);
}

}  // namespace
}  // namespace ripeline::codegen
