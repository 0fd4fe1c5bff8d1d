#include "spec/diagnostics.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace ripeline::spec {
namespace {

TEST(Diagnostics, are_rendered_in_the_order_of_their_places) {
  const Source source{"a.ripe", "one\n  two three\n"};
  EXPECT_EQ(
      render(source, {{"id-b", "second", "do that", {10, 15}}, {"id-a", "first", "", {0, 3}}}),
      "a.ripe:1:1: error[id-a]: first\n"
      "  one\n"
      "  ^\n"
      "a.ripe:2:7: error[id-b]: second\n"
      "  two three\n"
      "      ^\n"
      "  do that\n");
}

TEST(Diagnostics, put_the_caret_right_behind_tabs_and_wide_characters) {
  const Source tabs{"a.ripe", "\tab\tcd\n"};
  EXPECT_EQ(render(tabs, {{"id", "here", "", {4, 5}}}),
            "a.ripe:1:5: error[id]: here\n  ab\tcd\n    \t^\n");
  const Source wide{"a.ripe", "\xC3\xA4 \xE6\xBC\xA2 x\n"};  // widths of one and two columns
  EXPECT_EQ(render(wide, {{"id", "here", "", {7, 8}}}),
            "a.ripe:1:8: error[id]: here\n  \xC3\xA4 \xE6\xBC\xA2 x\n       ^\n");
}

TEST(Diagnostics, show_no_control_characters_and_no_broken_ones) {
  const Source source{"a.ripe", std::string("a\x1B[31m\xFFz\0", 9)};
  EXPECT_EQ(render(source, {{"id", "here", "", {7, 8}}}),
            "a.ripe:1:8: error[id]: here\n  a?[31m?z?\n         ^\n");
}

TEST(Diagnostics, cut_long_lines_around_the_place) {
  const Source source{"a.ripe", std::string(5000, 'x')};
  const std::string text = render(source, {{"id", "here", "", {2500, 2501}}});
  EXPECT_EQ(text, "a.ripe:1:2501: error[id]: here\n  ..." + std::string(160, 'x') + "...\n" +
                      std::string(105, ' ') + "^\n");
}

TEST(Diagnostics, stay_in_the_text) {
  EXPECT_EQ(render({"a.ripe", ""}, {{"id", "here", "", {7, 8}}}), "a.ripe:1:1: error[id]: here\n");
  EXPECT_EQ(render({"a.ripe", "ab"}, {{"id", "here", "", {7, 8}}}),
            "a.ripe:1:3: error[id]: here\n  ab\n    ^\n");
}

TEST(Result, of_nothing_is_good_or_says_why_not) {
  const Result<void> good;
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(good.errors().empty());
  const Diagnostic error{"id", "it could not be done", "", {0, 3}};
  const Result<void> bad = error;
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.errors(), Diagnostics{error});
  const Result<std::string> passed_on = bad.errors();
  EXPECT_EQ(passed_on.errors(), bad.errors());
}

TEST(Diagnostics, find_the_name_that_was_meant) {
  const std::vector<std::string> names = {"needs", "cost", "acquires", "releases", "F"};
  EXPECT_EQ(nearest("need", names), "needs");
  EXPECT_EQ(nearest("cots", names), "cost");
  EXPECT_EQ(nearest("aquires", names), "acquires");
  EXPECT_EQ(nearest("f", names), "F");
  EXPECT_EQ(nearest("G", names), std::nullopt);
  EXPECT_EQ(nearest("capacity", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
}

}  // namespace
}  // namespace ripeline::spec
