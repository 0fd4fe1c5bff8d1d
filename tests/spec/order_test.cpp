// Tests the tasks that an order lists for each rank, by tables of bodies and expansions.
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

Program with_order(const std::string& body, const std::string& place = "s",
                   const std::string& microbatches = "any") {
  return compiled(
      "pipeline p { microbatches " + microbatches + "; stages 4; place s on " + place +
      "; op F forward { needs F at prev; } op B backward { needs F at here, B at next; } "
      "order o on r { " +
      body + " } dispatch ready; }");
}

// The tasks of `rank`, in order.
std::string tasks(const Program& program, int rank, int microbatches) {
  const auto listed = expand(program, program.orders.at(0), rank, microbatches);
  if (!listed.ok()) return listed.errors().at(0).id;
  std::string text;
  for (const Task& task : listed.value()) {
    text += (text.empty() ? "" : " ") + program.task_name(task.lane, task.microbatch);
  }
  return text;
}

Program library_program(const char* name) { return compiled(library_text(name).value()); }

TEST(Order, expands_1f1b) {
  const Program program = library_program("1f1b");
  EXPECT_EQ(tasks(program, 0, 5), "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0B2 0B3 0B4");
  EXPECT_EQ(tasks(program, 2, 3), "2F0 2F1 2B0 2F2 2B1 2B2");
  EXPECT_EQ(tasks(program, 3, 3), "3F0 3B0 3F1 3B1 3F2 3B2");  // without warm-up
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

TEST(Order, lists_what_stands_for_one_rank) {
  const Program program = with_order(
      "let all = microbatches; stream f { F * all; } "
      "rank 0 { F * 2; (B F) * (all - 2); B; } f * (r == 0 ? 0 : all); rank 0 { B; } "
      "rank (2 - 1) { B * all; } rank 2 { (B) * all; } rank 3 {}",
      "s", "2 .. 9");
  EXPECT_EQ(tasks(program, 0, 3), "0F0 0F1 0B0 0F2 0B1 0B2");
  EXPECT_EQ(tasks(program, 1, 2), "1F0 1F1 1B0 1B1");
  EXPECT_EQ(tasks(program, 2, 2), "2F0 2F1 2B0 2B1");
  EXPECT_EQ(tasks(program, 3, 2), "3F0 3F1");
}

TEST(Order, does_not_look_at_what_stands_for_another_rank) {
  const Program program =
      with_order("rank 0 { F@1 * 2; } rank 1 { F@(1 - r) * (r - 1); }", "s % 2");
  EXPECT_EQ(tasks(program, 0, 2), "2F0 2F1");
  EXPECT_EQ(tasks(program, 1, 2), "");
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

constexpr const char* kGroups =
    "stream f = for g in 0 ..< ceil(microbatches / 2), c in 0 ..< chunks : F@c * 2; "
    "stream b = for g in 0 ..< ceil(microbatches / 2), c in 0 ..< chunks : "
    "B@(chunks - 1 - c) * 2; ";

TEST(Order, takes_items_from_streams) {
  const Program program = with_order(
      std::string(kGroups) + "f * 3; (f b) * (2 * microbatches - 3); b * 3;", "s % 2", "2 .. 9");
  EXPECT_EQ(tasks(program, 0, 2), "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
  EXPECT_EQ(tasks(program, 1, 4),
            "1F0 1F1 3F0 3F1 3B0 1F2 3B1 1F3 1B0 3F2 1B1 3F3 3B2 3B3 1B2 1B3");
}

TEST(Order, leaves_out_of_a_stream_what_is_beyond_the_last_microbatch) {
  const Program program =
      with_order(std::string(kGroups) + "f * (2 * microbatches); b * (2 * microbatches);", "s % 2");
  EXPECT_EQ(tasks(program, 0, 1), "0F0 2F0 2B0 0B0");
  EXPECT_EQ(tasks(program, 0, 3), "0F0 0F1 2F0 2F1 0F2 2F2 2B0 2B1 0B0 0B1 2B2 0B2");
}

TEST(Order, leaves_out_of_a_stream_what_was_listed_without_it) {
  EXPECT_EQ(
      tasks(with_order("stream f = for g in 1 .. 3 : F * 2; F; f * 2; (B f) * 1; B * 3;", "s", "4"),
            0, 4),
      "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(tasks(with_order("stream a = for g in 1 .. 3 : F; stream d = for g in 1 .. 9 : F * 3; "
                             "(a d a) * 1; d;",
                             "s", "4"),
                  0, 4),
            "0F0 0F1 0F2 0F3");
}

TEST(Order, runs_the_loops_of_a_stream_as_written) {
  // Inner ranges may depend on outer variables. Ranges may be empty.
  EXPECT_EQ(tasks(with_order("stream f = for a in 0 ..< 4, b in 2 .. a, c in 0 ..< b - 1 : "
                             "F@(a - a) * (b div 2); f * 4;",
                             "s", "9"),
                  0, 9),
            "0F0 0F1 0F2 0F3");
  EXPECT_EQ(tasks(with_order("stream f = for c in 0 .. 1 : F@c * (1 - c); f;"), 0, 9), "0F0");
  EXPECT_EQ(tasks(with_order("stream f = for g in 9223372036854775806 .. 9223372036854775807 : F; "
                             "f * min(2, microbatches);"),
                  0, 2),
            "0F0 0F1");
}

TEST(Order, takes_a_stream_twice_in_a_turn) {
  EXPECT_EQ(
      tasks(with_order("stream f = for c in 0 ..< chunks : F@c * 3; (f f B@0) * 3;", "s % 2", "3"),
            0, 3),
      "0F0 0F1 0B0 0F2 2F0 0B1 2F1 2F2 0B2");
}

TEST(Order, takes_the_parts_of_a_stream_in_turn) {
  const Program chain = with_order(
      "stream all { F * 2; for k in 0 ..< microbatches { (F B); } B * 2; } "
      "all * (2 * microbatches);");
  EXPECT_EQ(tasks(chain, 0, 3), "0F0 0F1 0F2 0B0 0B1 0B2");
  EXPECT_EQ(tasks(chain, 0, 1), "0F0 0B0");
  const Program loop = with_order(
      "stream f { for c in 0 .. 1 { F@c * 2; } for g in 2 ..< microbatches { F@0; F@1; } } "
      "stream b { (B@1 B@0) * microbatches; } f * 3; (b f) * (2 * microbatches - 3); b * 3;",
      "s % 2", "2 .. 9");
  EXPECT_EQ(tasks(loop, 1, 2), "1F0 1F1 3F0 3B0 3F1 1B0 3B1 1B1");
  EXPECT_EQ(tasks(loop, 0, 3), "0F0 0F1 2F0 2B0 2F1 0B0 0F2 2B1 2F2 0B1 2B2 0B2");
}

// When a program is read, its orders are tried with few counts; mistakes at others appear later.
TEST(Order, reports_what_goes_wrong_in_a_stream) {
  const std::string f = "stream f = for g in 0 ..< max(0, microbatches - 100) : F";
  EXPECT_EQ(tasks(with_order(f + "; f * max(0, microbatches - 100);"), 0, 103), "0F0 0F1 0F2");
  EXPECT_EQ(tasks(with_order(f + "@(g + 1);"), 0, 101), "order-no-such-chunk");
  EXPECT_EQ(tasks(with_order(f + " * (0 - g);"), 0, 102), "order-negative-count");
  EXPECT_EQ(tasks(with_order(f + " * (1 div g);"), 0, 101), "expr-division-by-zero");
  EXPECT_EQ(tasks(with_order(f + "; f * max(0, microbatches - 99);"), 0, 101),
            "order-stream-ended");
  EXPECT_EQ(tasks(with_order("stream f { F; for g in 0 ..< max(0, microbatches - 100) { F; (F "
                             "F@(g + 1)); } } f;"),
                  0, 101),
            "order-no-such-chunk");
  EXPECT_EQ(tasks(with_order("stream f { (F B) * max(0, microbatches - 100); } f * max(0, 2 * "
                             "microbatches - 199);"),
                  0, 101),
            "order-stream-ended");
  EXPECT_EQ(tasks(with_order("stream f = for g in 1 .. 1000000000 * max(0, microbatches - 99) : "
                             "F * 0;"),
                  0, 100),
            "order-too-long");
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
