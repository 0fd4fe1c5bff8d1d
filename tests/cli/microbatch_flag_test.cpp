// Tests -m: one number of microbatches or a range, with the same meaning in every command.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace {

// From four microbatches on, the first stage can fill the pool of a rank.
constexpr const char* kSticksFromFour = R"(pipeline fills {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;
  op F forward  { needs F at prev;             acquires activation; }
  op B backward { needs F at here, B at next;  releases activation; }
  resource activation per rank { capacity 2 * ranks; }
  hint bf { rounds B, F; }
  hint fb { rounds F, B; }
  dispatch ready by bf;
}
)";

// Rank 0 begins with three forwards, whatever the count, so the order needs three microbatches.
constexpr const char* kFromThree = R"(pipeline noclamp {
  param ranks = 4;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward  { cost 1;  needs F at prev;             acquires activation; }
  op B backward { cost 2;  needs F at here, B at next;  releases activation; }
  resource activation per stage { capacity ranks - s; }
  order plain on r {
    let warm = ranks - 1 - r;
    F * warm;  (F B) * (microbatches - warm);  B * warm;
  }
  dispatch in order plain;
}
)";

class MicrobatchFlag : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    write("fills.ripe", kSticksFromFour);
    write("noclamp.ripe", kFromThree);
  }
  bool says(const Outcome& outcome, const std::string& text) {
    return outcome.out.find(text) != std::string::npos;
  }
};

TEST_F(MicrobatchFlag, of_verify_is_what_the_verdict_is_for) {
  EXPECT_EQ(ripeline("verify fills.ripe --no-repairs").exit_code, 1);
  const Outcome one = ripeline("verify fills.ripe -m 3");
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_TRUE(says(one, "fills.ripe: proved, for 3 microbatches")) << one.out;
  for (const char* range : {"1..3", "'1 .. 3'"}) {
    const Outcome some = ripeline(std::string("verify fills.ripe --no-repairs -m ") + range);
    EXPECT_EQ(some.exit_code, 0) << some.out;
    EXPECT_TRUE(says(some, "fills.ripe: proved, for 1 .. 3 microbatches")) << some.out;
  }
  const Outcome more = ripeline("verify fills.ripe --no-repairs -m 2..64");
  EXPECT_EQ(more.exit_code, 1);
  EXPECT_TRUE(says(more, "refuted: deadlock, with 4 microbatches (the fewest)")) << more.out;
  const auto verdict =
      nlohmann::json::parse(ripeline("verify fills.ripe -m 1..3 --format json").out);
  EXPECT_EQ(verdict.at("microbatches"), "1 .. 3");
}

// No command fails because of a count outside the given range.
TEST_F(MicrobatchFlag, narrows_the_range_in_every_command) {
  const Outcome range = ripeline("verify noclamp.ripe -m 3..64");
  EXPECT_EQ(range.exit_code, 0) << range.out;
  EXPECT_TRUE(says(range, "noclamp.ripe: proved, for 3 .. 64 microbatches")) << range.out;
  const std::string line = "write `microbatches 3 .. 64;`, or give -m 3..64";
  for (const auto& [command, more] :
       std::vector<std::pair<std::string, std::string>>{{"verify", ""},
                                                        {"simulate", " --trace run.json"},
                                                        {"simulate", " --verify"},
                                                        {"emulate", " --unit 1ms"},
                                                        {"show", ""},
                                                        {"why", " 0F0"},
                                                        {"export", " -o x.csv"},
                                                        {"compare 1f1b", ""},
                                                        {"optimise", " --solver none --seconds 1"},
                                                        {"optimise", " --orders given --seeds 2"},
                                                        {"generate", " --name n -o n.h"},
                                                        {"check-run run.json --program", ""}}) {
    const Outcome eight = ripeline(command + " noclamp.ripe -m 8" + more);
    EXPECT_EQ(eight.exit_code, 0) << command << eight.out;
    const Outcome two = ripeline(command + " noclamp.ripe -m 2" + more);
    EXPECT_EQ(two.exit_code, 2) << command;
    EXPECT_TRUE(says(two, "order-negative-count")) << two.out;
    EXPECT_TRUE(says(two, line)) << two.out;
  }
  EXPECT_TRUE(says(ripeline("verify noclamp.ripe"), line));
  EXPECT_EQ(ripeline("generate noclamp.ripe -m 3..64 --name n -o n.h").exit_code, 0);
}

TEST_F(MicrobatchFlag, tells_every_command_what_microbatches_are) {
  std::string text = kFromThree;
  text.replace(text.find("capacity ranks - s"), 18, "capacity microbatches");
  write("all.ripe", text);
  EXPECT_EQ(ripeline("verify all.ripe").exit_code, 2);
  for (const char* command : {"verify all.ripe -m 8", "simulate all.ripe -m 8",
                              "show all.ripe -m 8", "export all.ripe -m 8 -o x.csv"}) {
    const Outcome outcome = ripeline(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  }
}

TEST_F(MicrobatchFlag, with_one_number_is_as_the_define) {
  const auto hash = [&](const std::string& arguments) {
    return nlohmann::json::parse(ripeline("verify bf --format json " + arguments).out)
        .at("hash")
        .get<std::string>();
  };
  EXPECT_EQ(hash("-m 8"), hash("-D microbatches=8"));
  EXPECT_EQ(hash("-m 8..8"), hash("-m 8"));
  EXPECT_NE(hash("-m 1..8"), hash("-m 8"));
  EXPECT_EQ(ripeline("verify bf -m 8 -D microbatches=8").exit_code, 0);
  EXPECT_EQ(ripeline("verify bf -m 8 -D microbatches=7").exit_code, 2);
  EXPECT_EQ(ripeline("verify bf -m 1..8 -D microbatches=8").exit_code, 2);
}

TEST_F(MicrobatchFlag, is_for_every_number_of_ranks_too) {
  const Outcome outcome = ripeline("verify 1f1b -D ranks=any -m 1..16");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_TRUE(says(outcome, "1 .. 16 microbatches")) << outcome.out;
}

TEST_F(MicrobatchFlag, of_a_proof_before_a_run_is_the_step) {
  const Outcome three = ripeline("simulate fills.ripe -m 3 --verify");
  EXPECT_EQ(three.exit_code, 0) << three.out;
  EXPECT_TRUE(says(three, "note: fills is proved for 3 microbatches")) << three.out;
  const Outcome four = ripeline("simulate fills.ripe -m 4 --verify");
  EXPECT_TRUE(says(four, "note: fills is refuted for 4 microbatches")) << four.out;
  const Outcome emulated = ripeline("emulate fills.ripe -m 3 --unit 1ms --verify");
  EXPECT_TRUE(says(emulated, "note: fills is proved for 3 microbatches")) << emulated.out;
}

// If the program is refuted, its dispatch cannot serve as the baseline.
TEST_F(MicrobatchFlag, of_a_race_is_what_candidates_are_proved_for) {
  const Outcome three = ripeline("optimise fills.ripe --orders given -m 3 --seeds 2");
  EXPECT_EQ(three.exit_code, 0) << three.out;
  EXPECT_TRUE(says(three, "note: what is proved here is proved for 3 microbatches")) << three.out;
  EXPECT_EQ(ripeline("optimise fills.ripe --orders given -m 4 --seeds 2").exit_code, 2);
}

// The trace belongs to the program itself, although a range was proved before.
TEST_F(MicrobatchFlag, of_a_run_leaves_the_program_as_it_is) {
  ASSERT_EQ(ripeline("simulate bf -m 4 --verify --trace run.json").exit_code, 0);
  EXPECT_EQ(ripeline("check-run run.json --program bf").exit_code, 0);
}

TEST_F(MicrobatchFlag, of_generate_is_what_the_header_is_for) {
  EXPECT_EQ(ripeline("generate fills.ripe --name f -o f.h").exit_code, 1);
  ASSERT_EQ(ripeline("generate fills.ripe -m 1..3 --name f -o f.h").exit_code, 0);
  EXPECT_NE(read("f.h").find("ripeline generate fills.ripe -m 1..3 --name f"), std::string::npos);
}

TEST_F(MicrobatchFlag, of_one_step_takes_no_range) {
  write("one.csv", "0F0,0B0\n1F0,1B0\n");
  for (const char* arguments :
       {"simulate bf -m 1..8", "emulate bf -m 1..8", "show bf -m 1..8", "why bf 0F0 -m 1..8",
        "step bf -m 1..8", "compare bf 1f1b -m 1..8", "optimise bf --orders given -m 1..8",
        "export 1f1b -m 1..8 -o x.csv", "check one.csv -m 1..8", "optimise -m 1..8"}) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_TRUE(says(outcome, "-m 1..8: one step is run, so give one number")) << outcome.out;
  }
}

TEST_F(MicrobatchFlag, that_is_no_count_or_out_of_range_is_said) {
  for (const auto& [flag, text] : std::vector<std::pair<std::string, std::string>>{
           {"-m x", "'x': expected a number of microbatches, as 64, or a range of them, as 1..128"},
           {"-m 0", "0 microbatches: expected 1 to 1000000000"},
           {"-m 8..2", "8..2: the first number is the smaller one"},
           {"-m 1..", "'': expected a number"},
           {"-m " + std::string(300, '9'),
            "999999999999… (300 characters) microbatches: expected"}}) {
    for (const char* command : {"verify bf ", "simulate bf "}) {
      const Outcome outcome = ripeline(command + flag);
      EXPECT_EQ(outcome.exit_code, 2) << flag;
      EXPECT_TRUE(says(outcome, text)) << outcome.out;
    }
  }
  write("some.ripe", [] {
    std::string text = kSticksFromFour;
    return text.replace(text.find("any"), 3, "2 .. 6");
  }());
  EXPECT_EQ(ripeline("verify some.ripe -m 2..3").exit_code, 0);
  for (const char* counts : {"1", "1..3", "3..7"}) {
    const Outcome outcome = ripeline(std::string("verify some.ripe -m ") + counts);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_TRUE(
        says(outcome, "some.ripe: -m " + std::string(counts) + ": error[define-microbatches]: "))
        << outcome.out;
  }
}

TEST_F(MicrobatchFlag, is_not_needed_where_there_is_one_count) {
  write("one.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  for (const char* arguments :
       {"simulate one.csv", "show one.csv", "optimise one.csv --orders given",
        "export one.csv -o x.csv", "emulate one.csv --unit 1ms"}) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << outcome.out;
  }
  const Outcome outcome = ripeline("simulate bf");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(says(outcome, "-m is needed")) << outcome.out;
  const Outcome other = ripeline("simulate one.csv -m 3");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(says(other, "-m 3: error[define-microbatches]: 3 is outside of the range"))
      << other.out;
}

}  // namespace
