// Tests costs that name the microbatch, as users meet them: every command uses the text's costs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace {

// The first forward takes 4, the others take 1: the step takes 4 + 3 + 4 * 2.
constexpr const char* kFirstIsLong = R"(pipeline p {
  microbatches 4;
  stages 1;  place s on 0;
  op F forward { cost (m == 0 ? 4 : 1);  acquires a; }
  op B backward { cost 2;  needs F at here;  releases a; }
  resource a per rank { capacity 5; }
  dispatch ready;
}
)";

class MicrobatchCost : public CliTest {
 protected:
  nlohmann::json json(const std::string& arguments) {
    const Outcome outcome = ripeline(arguments + " --format json", "2> /dev/null");
    EXPECT_EQ(outcome.exit_code, 0) << arguments;
    return nlohmann::json::parse(outcome.out);
  }
};

TEST_F(MicrobatchCost, is_what_a_run_takes) {
  write("first.ripe", kFirstIsLong);
  EXPECT_NE(ripeline("simulate first.ripe").out.find("wall (makespan) 15 "), std::string::npos);
  EXPECT_NE(ripeline("show first.ripe").out.find("F0----"), std::string::npos);
  const Outcome compared = ripeline("compare first.ripe first.ripe");
  EXPECT_NE(compared.out.find(" 15 "), std::string::npos) << compared.out;
  const Outcome emulated = ripeline("emulate first.ripe --unit 20ms");
  EXPECT_EQ(emulated.exit_code, 0) << emulated.out;
  EXPECT_NE(emulated.out.find("simulated: wall 15"), std::string::npos) << emulated.out;
}

TEST_F(MicrobatchCost, is_what_orders_are_found_for) {
  write("first.ripe", kFirstIsLong);
  const Outcome found = ripeline("optimise first.ripe --solver none --seconds 2 -o best.ripe");
  EXPECT_EQ(found.exit_code, 0) << found.out;
  EXPECT_NE(found.out.find("15"), std::string::npos) << found.out;
  EXPECT_EQ(found.out.find(" 12"), std::string::npos) << found.out;
  EXPECT_NE(ripeline("simulate best.ripe").out.find("wall (makespan) 15 "), std::string::npos);
}

// The first gradient arrives while the long forward runs, and its backward then runs first.
TEST_F(MicrobatchCost, decides_what_an_exported_run_does) {
  write("late.ripe", R"(pipeline late {
  microbatches 3;
  stages 2;  place s on s;
  op F forward { cost m == 1 ? 10 : 1;  needs F at prev; }
  op B backward { cost 2;  needs F at here, B at next; }
  hint b { prefer B, F; }
  dispatch ready by b;
}
)");
  const Outcome exported = ripeline("export late.ripe -o late.csv");
  EXPECT_EQ(exported.exit_code, 0) << exported.out;
  EXPECT_EQ(read("late.csv"), "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
}

}  // namespace
