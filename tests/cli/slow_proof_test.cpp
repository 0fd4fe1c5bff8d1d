// Tests the output of a slow proof, and certificates of orders for which no solver was needed.
#include <gtest/gtest.h>

#include <string>

#include "spec/library.h"
#include "tests/cli/program.h"

namespace {

using SlowProof = CliTest;

// With slots, the order's times prove nothing, and a solver takes minutes.
TEST_F(SlowProof, says_what_it_does_and_what_would_be_quicker_without_a_terminal_too) {
  std::string text = ripeline::spec::library_text("interleaved_1f1b").value();
  const std::string need = "needs F at prev;";
  text.replace(text.find(need), need.size(), "needs F at prev via slots 999;");
  write("slow.ripe", text);
  const std::string said = ripeline("verify slow.ripe -D ranks=16", "2>&1", 8).out;
  EXPECT_EQ(
      said,
      "ripeline: proving slow.ripe takes longer than 5 s. One count of microbatches is proved "
      "sooner: -m 16, for example.\n");
  const std::string quick = ripeline("verify slow.ripe -D ranks=16 -m 16").out;
  EXPECT_EQ(quick.find("takes longer"), std::string::npos) << quick;
  EXPECT_NE(quick.find("proved"), std::string::npos) << quick;
}

// Counts of tasks are linear in the number of microbatches only if odd and even numbers are apart.
constexpr const char* kOdd = R"(pipeline odd {
  microbatches any;
  stages 2;
  place s on 0;
  op F forward { acquires a; }
  op B backward { needs F at here; releases a; }
  resource a per rank { capacity 4; }
  order o on r {
    (F@(microbatches % 2) B@(microbatches % 2)) * microbatches;
    (F@(1 - microbatches % 2) B@(1 - microbatches % 2)) * microbatches;
  }
  dispatch in order o;
}
)";

TEST_F(SlowProof, another_solver_rechecks_what_times_have_shown) {
  write("odd.ripe", kOdd);
  for (const char* const program :
       {"odd.ripe", "zb_h1 -D ranks=3", "interleaved_1f1b -D ranks=2"}) {
    const std::string proved = ripeline(std::string("verify ") + program + " --certificate c").out;
    EXPECT_NE(proved.find("deadlock     proved   cuts"), std::string::npos) << proved;
    const std::string rechecked = ripeline("recheck c").out;
    EXPECT_NE(rechecked.find("c: accepted"), std::string::npos) << rechecked;
  }
}

}  // namespace
