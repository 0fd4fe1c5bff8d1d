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
using MostOpen = std::map<std::string, std::int64_t>;
const MostOpen kMostOpen = {{"link fifo", 2}, {"keeping", 4}};
// Between different shares `of m - 1` is not counted, and joins lose what each need may leave out.
const MostOpen kMostOpenOfShares = {
    {"on m where", 4}, {"needs of", 10}, {"needs of all", 4}, {"join", 5}};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void expect_agreement(const compare::Options& options, std::uint64_t programs,
                      const MostOpen& most_open) {
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
    const auto more = most_open.find(name);
    EXPECT_LE(row.open * 100, row.judged() * (more == most_open.end() ? 1 : more->second));
    EXPECT_GE(row.proved * 10, row.judged());
    EXPECT_GE((row.refuted + row.through_hint) * 25, row.judged());
  }
}

TEST(Oracle, agrees_on_random_programs) {
  compare::Options options;
  options.programs.shares = options.programs.pairs = false;
  expect_agreement(options, kPrograms, kMostOpen);
}

// Half of the programs have lanes that have some microbatches only, and nothing else new.
TEST(Oracle, agrees_on_lanes_that_have_some_microbatches) {
  compare::Options options;
  options.programs = {
      .max_ranks = 3, .max_chunks = 2, .max_microbatches = 3, .max_tasks = 16, .shares = true};
  expect_agreement(options, kPrograms / 4, kMostOpenOfShares);
}

// Half of the programs have pairs; engines of their own run beside them.
TEST(Oracle, agrees_on_tasks_beside_each_other) {
  compare::Options options;
  options.programs = {.max_ranks = 3,
                      .max_chunks = 2,
                      .max_microbatches = 3,
                      .max_tasks = 16,
                      .links = true,
                      .engines = true,
                      .pairs = true};
  expect_agreement(options, kPrograms / 4, kMostOpen);
}

}  // namespace
}  // namespace ripeline
