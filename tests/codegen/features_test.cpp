// Tests generated arbiters of programs with several engines, rendezvous, lanes with one task and
// needs of other microbatches. CMake generated and validated the headers of these arbiters, which
// must agree with the interpreter in every state that occurs.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "beside.h"
#include "codegen/generate.h"
#include "engines.h"
#include "followed.h"
#include "lower/facts.h"
#include "meet.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "tests/support/arbiter_walk.h"
#include "validate/probe/probe.h"

namespace ripeline::codegen {
namespace {

struct Feature {
  const char* name;
  const core::ProgramFacts* facts;
  std::unique_ptr<core::Arbiter> (*make)(int rank);
};
void PrintTo(const Feature& feature, std::ostream* out) { *out << feature.name; }

const Feature kFeatures[] = {
    {"engines", &engines::facts, engines::make_arbiter},
    {"beside", &beside::facts, beside::make_arbiter},
    {"meet", &meet::facts, meet::make_arbiter},
    {"followed", &followed::facts, followed::make_arbiter},
};

spec::Program program_of(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(RIPELINE_SOURCE_DIR "/tests/generated/" + name + ".ripe").rdbuf();
  return spec::compile({name, text.str()}).value();
}

class Features : public testing::TestWithParam<Feature> {};

TEST_P(Features, agree_with_the_interpreter_in_every_state_met) {
  const spec::Program program = program_of(GetParam().name);
  EXPECT_TRUE(not_generated(program).empty());
  const core::OwnedFacts storage = lower::facts_of(program);
  std::int64_t states = 0;
  for (int rank = 0; rank < program.ranks; ++rank) {
    simulate::InterpretedArbiter interpreted(program, storage.facts(), rank);
    const std::unique_ptr<core::Arbiter> generated = GetParam().make(rank);
    testing_support::ArbiterWalk walk(interpreted, *generated, 7 + static_cast<unsigned>(rank));
    for (const int microbatches : {1, 2, 3, 5, 8, 13, 2, 65}) {
      EXPECT_EQ(walk.run(microbatches), "");
    }
    states += walk.states();
  }
  EXPECT_GT(states, 500);
}

TEST_P(Features, have_the_facts_of_their_program) {
  const spec::Program program = program_of(GetParam().name);
  const core::OwnedFacts storage = lower::facts_of(program);
  EXPECT_EQ(validate::facts_text(*GetParam().facts), validate::facts_text(storage.facts()));
}

INSTANTIATE_TEST_SUITE_P(Codegen, Features, testing::ValuesIn(kFeatures),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Generate, has_the_parts_that_a_program_needs) {
  const auto text = [](const char* name) {
    return generate_unproved(program_of(name), {.name = "p", .file = "p.ripe", .command = ""});
  };
  const char* const one_engine = ".one_engine = true,";
  EXPECT_NE(text("names").find(one_engine), std::string::npos);
  for (const char* name : {"meet", "engines", "beside"}) {
    EXPECT_EQ(text(name).find(one_engine), std::string::npos) << name;
  }
  EXPECT_NE(text("waits").find("write_order("), std::string::npos);
  EXPECT_EQ(text("names").find("priority("), std::string::npos);
  EXPECT_NE(text("valuing").find("priority("), std::string::npos);
}

}  // namespace
}  // namespace ripeline::codegen
