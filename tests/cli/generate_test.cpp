// Tests `ripeline generate --for torch` and the flags of `ripeline library`, as a user meets them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace {

using GenerateForTorch = CliTest;
using Tables = CliTest;

// A chain of three stages with the op F and these ops.
std::string chain(const std::string& ops) {
  return "pipeline chain {\n  microbatches any;\n  stages 3;\n  place s on s;\n"
         "  op F forward { needs F at prev; }\n" +
         ops + "  dispatch ready;\n}\n";
}

TEST_F(GenerateForTorch, refuses_what_the_stages_would_refuse_when_they_start) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"  op B backward { needs F at here, B at next; }\n"
       "  op P user \"noise\" { needs B at here; }\n",
       "chain.ripe:7:6: error[for-torch]: 0P: LibTorch stages run ops of the kinds"},
      {"  op I backward input { needs F at here, I at next; }\n",
       "chain.ripe:6:6: error[for-torch]: 0I is one half of a backward, and its stage has no op "
       "`backward weight`"},
      {"  op B backward { needs F at here; }\n",
       "chain.ripe:5:6: error[for-torch]: 0F feeds 1 other stages, and 0B needs the gradients of "
       "0"},
      {"  op O offload on copy_out { needs F at here; }\n"
       "  op B backward { needs F at here, B at next; }\n",
       "chain.ripe:7:6: error[for-torch]: 0B needs what is offloaded: its stage must have an op "
       "`reload`"},
      {"  data_parallel 2;\n  op B backward { needs F at here, B at next; }\n",
       "error[for-torch]: stage 0 has no op `reduce`, and its gradients are those of one replica"},
      {"  data_parallel 2;\n  op B backward { needs F at here, B at next; }\n"
       "  op G reduce once on comm { needs F at here of all; }\n",
       "error[for-torch]: 0G sums gradients: it must need all tasks that compute them"},
      {"  op B backward on m where m % 2 == 0 { needs F at here, B at next; }\n",
       "chain.ripe:5:6: error[for-torch]: 0F: microbatch 1 runs backward not at all at this stage"},
      {"  op B backward { needs F at here, B at next, I at next; }\n"
       "  op I backward input on m where m % 3 == 1 { needs F at here, B at next, I at next; }\n"
       "  op W backward weight on m where m % 3 == 1 { needs I at here; }\n",
       "chain.ripe:5:6: error[for-torch]: 0F: microbatch 1 runs backward 2 times at this stage"},
      {"  op B backward on m where m % 2 == s % 2 { needs F at here, B at next; }\n"
       "  op I backward input on m where m % 2 != s % 2 { needs F at here, I at next; }\n"
       "  op W backward weight on m where m % 2 != s % 2 { needs I at here; }\n",
       "chain.ripe:5:6: error[for-torch]: 0F feeds 1 other stages, and 0B needs the gradients of "
       "0"},
      {"  op B backward { needs F at here, B at next; }\n"
       "  op T user \"ties\" once { needs F at here of all; }\n",
       "error[for-torch]: 0T: LibTorch stages run ops of the kinds"},
  };
  for (const auto& [ops, said] : cases) {
    write("chain.ripe", chain(ops));
    const Outcome refused = ripeline("generate chain.ripe --for torch --name c -o refused.h");
    EXPECT_EQ(refused.exit_code, 2) << ops << refused.out;
    EXPECT_NE(refused.out.find(said), std::string::npos) << ops << refused.out;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused.h"));
  }
}

TEST_F(GenerateForTorch, says_an_op_once_and_shows_it) {
  write("chain.ripe", chain("  op B backward { needs F at here, B at next; }\n"
                            "  op P user \"noise\" { needs B at here; }\n"));
  const Outcome refused = ripeline("generate chain.ripe --for torch --name c -o c.h");
  EXPECT_NE(refused.out.find("\n  op P user \"noise\" { needs B at here; }\n     ^\n"),
            std::string::npos)
      << refused.out;
  EXPECT_EQ(refused.out.find("1P"), std::string::npos) << refused.out;
}

// Ops that --for torch refuses are allowed for other runtimes, whose own work runs them.
TEST_F(GenerateForTorch, is_asked_only_if_it_is_said) {
  write("chain.ripe", chain("  op B backward { needs F at here, B at next; }\n"
                            "  op P user \"noise\" { needs B at here; }\n"));
  EXPECT_EQ(ripeline("generate chain.ripe --name c -o c.h").exit_code, 0);
  EXPECT_EQ(ripeline("generate chain.ripe --for mine --name c -o c.h").exit_code, 2);
}

TEST_F(GenerateForTorch, takes_the_library) {
  for (const char* schedule : {"bf", "bfw_v", "zb_h1", "chimera", "interleaved_1f1b"}) {
    const Outcome generated = ripeline(std::string("generate ") + schedule +
                                       " -D ranks=2 -m 4 --for torch --name taken -o taken.h");
    EXPECT_EQ(generated.exit_code, 0) << schedule << generated.out;
    EXPECT_NE(read("taken.h").find(" --for torch "), std::string::npos) << schedule;
  }
}

TEST_F(GenerateForTorch, takes_whole_and_split_backwards_at_one_stage) {
  write("mixed.csv", "0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1I1,1W1\n");
  const Outcome generated = ripeline("generate mixed.csv --for torch --name mixed -o mixed.h");
  EXPECT_EQ(generated.exit_code, 0) << generated.out;
}

TEST_F(Tables, of_races_have_lines_that_fit) {
  const Outcome raced =
      ripeline("optimise zb_v --orders given -D ranks=4 -m 16 --seeds 2 --jitter tails=10:30");
  EXPECT_EQ(raced.exit_code, 0) << raced.out;
  EXPECT_NE(raced.out.find("not proved; does not end: deadlock: "), std::string::npos) << raced.out;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = raced.out.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    EXPECT_LE(end - begin, 150U) << raced.out.substr(begin, end - begin);
  }
}

}  // namespace
