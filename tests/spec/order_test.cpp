// What an order makes each rank do: tables of bodies and expansions.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "spec/elaborate.h"
#include "spec/library.h"

namespace ripeline::spec {
namespace {

Program compiled(const std::string& text) {
  const Source source{"test.ripe", text};
  const Result<Program> program = compile(source);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : render(source, program.errors()));
  return program.ok() ? program.value() : Program{};
}

Program with_order(const std::string& body, const std::string& place = "s") {
  return compiled(
      "pipeline p { microbatches any; stages 4; place s on " + place +
      "; op F forward { needs F at prev; } op B backward { needs F at here, B at next; } "
      "order o on r { " +
      body + " } dispatch ready; }");
}

// The tasks that rank r runs: each occurrence of a lane is its next microbatch.
std::string tasks(const Program& program, int rank, int microbatches) {
  const auto lanes = expand(program, program.orders.at(0), rank, microbatches);
  if (!lanes.ok()) return lanes.errors().at(0).id;
  std::vector<int> next(program.lanes.size(), 0);
  std::string text;
  for (const int lane : lanes.value()) {
    text +=
        (text.empty() ? "" : " ") + program.task_name(lane, next[static_cast<std::size_t>(lane)]++);
  }
  return text;
}

Program library_program(const char* name) { return compiled(library_text(name).value()); }

TEST(Order, expands_1f1b) {
  const Program program = library_program("1f1b");
  EXPECT_EQ(tasks(program, 0, 5), "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0B2 0B3 0B4");
  EXPECT_EQ(tasks(program, 2, 3), "2F0 2F1 2B0 2F2 2B1 2B2");
  EXPECT_EQ(tasks(program, 3, 3), "3F0 3B0 3F1 3B1 3F2 3B2");  // no warm-up
}

TEST(Order, warms_up_with_no_more_microbatches_than_there_are) {
  const Program program = library_program("1f1b");
  EXPECT_EQ(tasks(program, 0, 1), "0F0 0B0");
  EXPECT_EQ(tasks(program, 0, 2), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(tasks(library_program("eager_1f1b"), 0, 4), "0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3");
  EXPECT_EQ(tasks(library_program("eager_1f1b"), 2, 4), "2F0 2F1 2F2 2B0 2F3 2B1 2B2 2B3");
}

TEST(Order, expands_gpipe) {
  EXPECT_EQ(tasks(library_program("gpipe"), 1, 3), "1F0 1F1 1F2 1B0 1B1 1B2");
}

TEST(Order, names_chunks) {
  const Program program = with_order(
      "F@0 * microbatches; let last = chunks - 1; (F@last B@(last)) * microbatches; B@0 * "
      "microbatches;",
      "s % 2");
  EXPECT_EQ(tasks(program, 1, 2), "1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1");
}

TEST(Order, does_not_look_at_what_is_repeated_no_times) {
  const Program program = with_order("F@7 * 0; F * microbatches; B;");
  EXPECT_EQ(tasks(program, 1, 1), "1F0 1B0");
}

TEST(Order, repeats_once_where_no_count_is_written) {
  EXPECT_EQ(tasks(with_order("F; (B F);"), 0, 2), "0F0 0B0 0F1");
}

TEST(Order, reports_what_only_some_counts_show) {
  EXPECT_EQ(tasks(with_order("F * (200 - microbatches);"), 0, 201), "order-negative-count");
  EXPECT_EQ(tasks(with_order("F@(microbatches div 100);"), 0, 100), "order-no-such-chunk");
  EXPECT_EQ(tasks(with_order("F * (microbatches * 100000);"), 0, 101), "order-too-long");
  EXPECT_EQ(tasks(with_order("F * (max(0, microbatches - 100) * 9000000000000000);"), 0, 5000),
            "expr-overflow");
  EXPECT_EQ(tasks(with_order("F * (4 div (100 - microbatches));"), 0, 100),
            "expr-division-by-zero");
}

TEST(Order, says_on_which_rank_and_with_how_many_microbatches) {
  const Source source{"test.ripe",
                      "pipeline p { microbatches 2 .. 9; stages 4; place s on s; op F { }\n"
                      "  order o on r { F * (5 - r - microbatches); }\n"
                      "  dispatch in order o; }"};
  const auto program = compile(source);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(render(source, program.errors()),
            "test.ripe:2:22: error[order-negative-count]: this count is -1 on rank 3 with 3 "
            "microbatches\n"
            "  order o on r { F * (5 - r - microbatches); }\n"
            "                     ^\n"
            "  a count must be 0 or more for every rank and every microbatch count in range\n");
}

}  // namespace
}  // namespace ripeline::spec
