// Tests that verdicts on random small programs of every feature agree with visiting every state.
// compare_oracle (docs/testing.md) does the same for millions of programs.
//
// Programs of each kind are compared in shards. A shard is a test that takes some seconds and
// writes its tally to a file. When all have passed, another test adds the tallies and checks how
// many programs were left open.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/compare/comparison.h"
#include "tests/compare/tally.h"

namespace ripeline {
namespace {

// For some features, the largest percentage of programs with the feature, and without a join, that
// may be left open. For other features it is 1; verify can judge these more completely.
using MostOpen = std::map<std::string, std::int64_t>;

struct Kind {
  std::string name;
  testing_support::RandomProgramOptions programs;
  std::uint64_t count = 0;
  std::uint64_t shards = 0;
  MostOpen most_open;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

testing_support::RandomProgramOptions usual() {
  testing_support::RandomProgramOptions programs = compare::Options().programs;
  programs.shares = programs.pairs = false;
  return programs;
}

const Kind kKinds[] = {
    {.name = "usual",
     .programs = usual(),
     .count = 4'000,
     .shards = 8,
     .most_open = {{"link slots", 2}, {"link fifo", 2}, {"keeping", 4}}},
    // Half of the programs have lanes with some microbatches only, and no other new feature.
    // Counts cannot describe needs `of m - 1` between different shares. With joins, counts do not
    // show which tasks each need may leave out.
    {.name = "some_microbatches",
     .programs =
         {.max_ranks = 3, .max_chunks = 2, .max_microbatches = 3, .max_tasks = 16, .shares = true},
     .count = 1'000,
     .shards = 8,
     .most_open = {{"on m where", 4}, {"needs of", 10}, {"needs of all", 4}, {"join", 5}}},
    // Half of the programs have backwards that are whole for some microbatches and split for
    // others.
    {.name = "whole_and_split",
     .programs =
         {.max_ranks = 3, .max_chunks = 2, .max_microbatches = 3, .max_tasks = 20, .mixed = true},
     .count = 1'000,
     .shards = 4,
     .most_open = {{"on m where", 4}, {"join", 5}}},
    // Half of the programs have pairs; they also have other engines, which run at the same time.
    {.name = "beside_each_other",
     .programs = {.max_ranks = 3,
                  .max_chunks = 2,
                  .max_microbatches = 3,
                  .max_tasks = 16,
                  .links = true,
                  .engines = true,
                  .pairs = true},
     .count = 1'000,
     .shards = 2,
     .most_open = {{"link fifo", 2}, {"keeping", 4}}},
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t first_seed() { return from_environment("RIPELINE_SEED", 1); }
std::uint64_t count_of(const Kind& kind) {
  const bool one = std::getenv("RIPELINE_SEED") != nullptr;
  return from_environment("RIPELINE_PROGRAMS", one ? 1 : kind.count);
}

std::string tally_of(const Kind& kind, std::uint64_t shard) {
  return std::string(RIPELINE_TALLIES) + "/" + kind.name + "." + std::to_string(shard) + ".json";
}

struct Shard {
  Kind kind;
  std::uint64_t number = 0;  // this shard takes the seeds with this remainder
};

void PrintTo(const Shard& shard, std::ostream* out) {
  *out << shard.kind.name << ", shard " << shard.number << " of " << shard.kind.shards;
}

std::vector<Shard> all_shards() {
  std::vector<Shard> shards;
  for (const Kind& kind : kKinds) {
    for (std::uint64_t n = 0; n < kind.shards; ++n) shards.push_back({kind, n});
  }
  return shards;
}

class Oracle : public testing::TestWithParam<Shard> {};

TEST_P(Oracle, agrees_on_random_programs) {
  const auto& [kind, number] = GetParam();
  const std::string file = tally_of(kind, number);
  std::filesystem::create_directories(RIPELINE_TALLIES);
  std::filesystem::remove(file);
  compare::Options options;
  options.programs = kind.programs;
  // With four times as many, the few programs that stay open would take most of the time.
  options.again->search_states = 500'000;
  compare::Tally tally;
  const std::uint64_t end = first_seed() + count_of(kind);
  for (std::uint64_t seed = first_seed() + number; seed < end; seed += kind.shards) {
    const compare::Comparison comparison = compare::compare(seed, options);
    tally.add(seed, comparison);
    for (const std::string& wrong : comparison.wrong) {
      ADD_FAILURE() << "RIPELINE_SEED=" << seed << "\n" << wrong << "\n" << comparison.text;
    }
    if (HasFailure()) return;
  }
  // In programs without features, verify must decide everything that the oracle can decide.
  EXPECT_EQ(tally.rows["none"].missed, 0);
  std::ofstream(file) << nlohmann::json(tally);
}

INSTANTIATE_TEST_SUITE_P(Shards, Oracle, testing::ValuesIn(all_shards()), [](const auto& test) {
  return test.param.kind.name + "_" + std::to_string(test.param.number);
});

class OracleTally : public testing::TestWithParam<Kind> {};

TEST_P(OracleTally, leaves_few_open) {
  const Kind& kind = GetParam();
  compare::Tally tally;
  for (std::uint64_t shard = 0; shard < kind.shards; ++shard) {
    std::ifstream file(tally_of(kind, shard));
    ASSERT_TRUE(file) << "shard " << shard << " has not passed";
    tally.add(nlohmann::json::parse(file).get<compare::Tally>());
  }
  std::cout << tally.table();
  ASSERT_EQ(tally.rows["all"].programs, static_cast<std::int64_t>(count_of(kind)))
      << "of another run";
  for (const auto& [name, row] : tally.rows) {
    constexpr std::int64_t kEnough = 50;
    if (name == "all" || row.judged() < kEnough) continue;
    SCOPED_TRACE(name);
    const auto more = kind.most_open.find(name);
    EXPECT_LE(row.open * 100, row.judged() * (more == kind.most_open.end() ? 1 : more->second));
    EXPECT_GE(row.proved * 10, row.judged());
    EXPECT_GE((row.refuted + row.through_hint) * 25, row.judged());
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OracleTally, testing::ValuesIn(kKinds),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ripeline
