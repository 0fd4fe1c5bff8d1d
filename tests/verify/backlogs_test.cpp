// Tests which backlogs exist in no stuck state: the answer that considers few ranks at a time is
// compared with the query about all ranks.
#include "verify/ready/backlogs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "verify/ready/counter_queries.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

constexpr std::uint64_t kSteps = 500'000;

spec::Program compiled(const std::string& text,
                       const std::map<std::string, std::int64_t>& defines) {
  return spec::compile({"backlogs.ripe", text}, {.defines = defines, .dispatch = ""}).value();
}

spec::Program of_library(const char* name, const std::map<std::string, std::int64_t>& defines) {
  return compiled(spec::library_text(name).value(), defines);
}

std::vector<Linear> excluded_of(const spec::Program& program) {
  return excluded_backlogs(program, count(program), kSteps);
}

// Chunks of one rank share its room; some orders of starts leave no room for the last chunk.
std::string v_leaving(const std::string& amount) {
  return R"(
pipeline v {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;
  op F forward  { needs F at prev;  acquires activation leaving )" +
         amount + R"(; }
  op B backward { needs F at here, B at next;  releases activation; }
  resource activation per rank { capacity 3; }
  dispatch ready;
}
)";
}

TEST(Backlogs, are_excluded_only_where_no_stuck_state_has_them) {
  const spec::Program programs[] = {
      compiled(v_leaving("0"), {{"ranks", 2}}),
      compiled(v_leaving("0"), {{"ranks", 3}}),
      compiled(v_leaving("chunks - 1 - chunk"), {{"ranks", 3}}),
      of_library("bfw_v", {{"ranks", 3}}),
      of_library("hanayo", {{"ranks", 2}, {"waves", 2}}),
      of_library("bf", {{"ranks", 4}}),
  };
  for (const spec::Program& program : programs) {
    CounterQueries queries(program, VerifyOptions{}.solver_steps);
    const Term stuck = queries.stuck();
    for (const Linear& backlog : excluded_of(program)) {
      EXPECT_EQ(queries.solver().check("both", {stuck, queries.not_negative(backlog)}),
                Answer::unsat)
          << program.name << " on " << program.ranks;
    }
  }
}

TEST(Backlogs, of_a_program_that_deadlocks_are_not_all_excluded) {
  const spec::Program program = compiled(v_leaving("0"), {{"ranks", 2}});
  CounterQueries queries(program, VerifyOptions{}.solver_steps);
  ASSERT_EQ(queries.solver().check("stuck", {queries.stuck()}), Answer::sat);
  EXPECT_LT(excluded_of(program).size(), program.edges.size());
}

TEST(Backlogs, are_all_excluded_where_tasks_wait_for_ranks_that_are_near) {
  for (const int ranks : {1, 2, 5, 32}) {
    for (const char* name : {"bf", "bfw_v", "hanayo"}) {
      const spec::Program program = of_library(name, {{"ranks", ranks}});
      EXPECT_EQ(excluded_of(program).size(), program.edges.size()) << name << " on " << ranks;
    }
  }
}

TEST(Backlogs, are_left_open_without_steps) {
  EXPECT_TRUE(excluded_backlogs(of_library("bf", {{"ranks", 4}}),
                                count(of_library("bf", {{"ranks", 4}})), 1)
                  .empty());
}

}  // namespace
}  // namespace ripeline::verify
