// Random small programs of every feature: the verdicts agree with visiting every state.
// compare_oracle (docs/testing.md) does the same by the million.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "tests/compare/comparison.h"
#include "tests/compare/tally.h"

namespace ripeline {
namespace {

constexpr std::uint64_t kPrograms = 4'000;

// Of a hundred programs with the feature and without a join, how many may be left open. One, but
// for what verify does not follow as far as that.
std::int64_t most_open(const std::string& feature) {
  static const std::map<std::string, std::int64_t> kMore = {
      {"link fifo", 2},
      {"keeping", 4},
  };
  const auto it = kMore.find(feature);
  return it == kMore.end() ? 1 : it->second;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void expect_agreement(const compare::Options& options, std::uint64_t programs) {
  const bool one = std::getenv("RIPELINE_SEED") != nullptr;
  const std::uint64_t first = from_environment("RIPELINE_SEED", 1);
  const std::uint64_t count = from_environment("RIPELINE_PROGRAMS", one ? 1 : programs);
  compare::Tally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const compare::Comparison comparison = compare::compare(seed, options);
    tally.add(seed, comparison);
    for (const std::string& wrong : comparison.wrong) {
      ADD_FAILURE() << "RIPELINE_SEED=" << seed << "\n" << wrong << "\n" << comparison.text;
    }
    if (testing::Test::HasFailure()) break;
  }
  std::cout << tally.table();
  // What the oracle can tell of programs without any of the features, verify can.
  EXPECT_EQ(tally.rows["none"].missed, 0);
  for (const auto& [name, row] : tally.rows) {
    constexpr std::int64_t kEnough = 50;
    if (name == "all" || row.judged() < kEnough) continue;
    SCOPED_TRACE(name);
    EXPECT_LE(row.open * 100, row.judged() * most_open(name));
    EXPECT_GE(row.proved * 10, row.judged());
    EXPECT_GE((row.refuted + row.through_hint) * 25, row.judged());
  }
}

TEST(Oracle, agrees_on_random_programs) {
  compare::Options options;
  options.programs.shares = false;
  expect_agreement(options, kPrograms);
}

// Half of the programs have lanes that have some microbatches only, and nothing else new.
TEST(Oracle, agrees_on_lanes_that_have_some_microbatches) {
  compare::Options options;
  options.programs = {
      .max_ranks = 3, .max_chunks = 2, .max_microbatches = 3, .max_tasks = 16, .shares = true};
  expect_agreement(options, kPrograms / 4);
}

}  // namespace
}  // namespace ripeline
