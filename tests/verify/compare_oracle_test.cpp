// Tests the test tools: random programs reveal mistakes in the judge, and compare_oracle has the
// same counts in one run, in shards, and when it is resumed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "spec/indexing.h"
#include "tests/compare/comparison.h"
#include "tests/support/mistakes.h"
#include "verify/verify.h"

namespace ripeline {
namespace {

namespace mistakes = testing_support::mistakes;
using testing_support::Mistake;

// The first seed whose program gets a wrong verdict; 0 if there is none.
std::uint64_t first_wrong(const Mistake& mistake, std::uint64_t from, std::uint64_t most) {
  compare::Options options;
  options.programs.links = options.programs.once = false;
  options.programs.before = options.programs.engines = false;
  options.programs.keeping = mistake.trusts_order;
  options.faulty_judge_for_testing = [mistake](const spec::Program& program,
                                               const verify::VerifyOptions& limits) {
    return testing_support::judged_with(mistake, program, limits);
  };
  for (std::uint64_t seed = from; seed < from + most; ++seed) {
    if (!compare::compare(seed, options).wrong.empty()) return seed;
  }
  return 0;
}

TEST(Comparison, random_programs_notice_mistakes_of_the_judge) {
  constexpr std::uint64_t kMost = 600;
  EXPECT_EQ(first_wrong({}, 1, 100), 0U);
  struct Planted {
    std::string name;
    Mistake mistake;
    std::uint64_t from = 1;  // a seed shortly before the first that shows a rare mistake
  };
  const std::vector<Planted> all = {
      {"a missing release", mistakes::missing_release(), 195},
      {"a capacity one too large", mistakes::capacities(1)},
      {"a dropped need", mistakes::dropped_need()},
      {"`leaving` is 0", mistakes::ignored_leaving()},
      {"every amount is 1", mistakes::amounts_of_one()},
      {"a task of an order that counts as run", mistakes::counts_ahead(), 130},
      {"no capacities in orders", mistakes::dropped_room()},
      {"a bound one too large", mistakes::bounds(1)},
      {"an order that is kept unproved", {.trusts_order = true}, 90},
  };
  for (const auto& [name, mistake, from] : all) {
    const std::uint64_t seed = first_wrong(mistake, from, kMost);
    EXPECT_GT(seed, 0U) << name;
    std::cout << name << ": seed " << seed << "\n";
  }
}

struct Ran {
  int status = -1;
  std::string output;
};

Ran run(const std::string& arguments) {
  const std::string command =
      std::string(RIPELINE_COMPARE_PROGRAM) + " " + arguments + " 2>/dev/null";
  Ran ran;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    ran.output += static_cast<char>(c);
  }
  ran.status = WEXITSTATUS(pclose(pipe));
  return ran;
}

class CompareOracle : public ::testing::Test {
 protected:
  CompareOracle()
      : folder_(std::filesystem::temp_directory_path() /
                ("compare_oracle_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~CompareOracle() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(CompareOracle, counts_the_same_in_one_go_in_shards_and_resumed) {
  const Ran whole = run("--programs 60");
  EXPECT_EQ(whole.status, 0) << whole.output;
  EXPECT_NE(whole.output.find("all" + std::string(20, ' ') + "60"), std::string::npos)
      << whole.output;

  EXPECT_EQ(run("--programs 23 --state " + file("resumed")).status, 0);
  EXPECT_EQ(run("--programs 60 --state " + file("resumed")).output, whole.output);
  EXPECT_EQ(run("--programs 60 --state " + file("resumed")).output, whole.output);

  for (const std::string shard : {"0", "1", "2"}) {
    run("--programs 60 --shard " + shard + "/3 --state " + file(shard));
  }
  EXPECT_EQ(run("--sum " + file("0") + " " + file("1") + " " + file("2")).output, whole.output);
}

TEST_F(CompareOracle, refuses_what_it_cannot_do) {
  EXPECT_EQ(run("--programs 3 --state " + file("a")).status, 0);
  EXPECT_EQ(run("--first 2 --programs 3 --state " + file("a")).status, 2);
  EXPECT_EQ(run("--programs").status, 2);
  EXPECT_EQ(run("--programs few").status, 2);
  EXPECT_EQ(run("--shard 2/2").status, 2);
  EXPECT_EQ(run("--features ops").status, 2);
  EXPECT_EQ(run("--sum " + file("none")).status, 2);
}

}  // namespace
}  // namespace ripeline
