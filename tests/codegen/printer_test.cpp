#include "codegen/printer.h"

#include <gtest/gtest.h>

namespace ripeline::codegen {
namespace {

TEST(Printer, fills_holes) {
  struct Case {
    std::string text;
    Holes holes;
    std::string expected;
  };
  for (const Case& c : {
           Case{"plain\n", {}, "plain\n"},
           Case{"$a$ and $b$, $a$", {{"a", "1"}, {"b", "2"}}, "1 and 2, 1"},
           Case{"{\n  $body$\n}", {{"body", "x;\ny;"}}, "{\n  x;\n  y;\n}"},
           Case{"{\n  $body$\n}", {{"body", "x;\n\ny;"}}, "{\n  x;\n\n  y;\n}"},
           Case{"{\n  $body$\n}", {{"body", ""}}, "{\n}"},
           Case{"f($a$);\n", {{"a", ""}}, "f();\n"},
       }) {
    EXPECT_EQ(fill(c.text, c.holes), c.expected);
  }
}

TEST(PrinterDeathTest, aborts_at_a_mistake_of_the_generator) {
  EXPECT_DEATH((void)fill("$a$", {}), "no value for the hole 'a'");
  EXPECT_DEATH((void)fill("a", {{"a", "1"}}), "no hole for 'a'");
  EXPECT_DEATH((void)fill("a$", {}), "half a hole in 'a\\$'");
}

TEST(Printer, wraps_lists) {
  EXPECT_EQ(wrap({"1", "2", "3"}, 100), "1, 2, 3,");
  EXPECT_EQ(wrap({"11", "22", "33"}, 8), "11, 22,\n33,");
  EXPECT_EQ(wrap({}, 8), "");
}

TEST(Printer, joins_and_quotes) {
  EXPECT_EQ(lines({"a", "b"}), "a\nb");
  EXPECT_EQ(paragraphs({"a", "b"}), "a\n\nb");
  EXPECT_EQ(quoted("a\"b\\"), "\"a\\\"b\\\\\"");
  EXPECT_EQ(identifier("new"), "new_");
  EXPECT_EQ(identifier("new_"), "new__");
  EXPECT_EQ(identifier("NULL"), "NULL_");
  EXPECT_EQ(identifier("INT_MAX"), "INT_MAX_");
  EXPECT_EQ(identifier("errno"), "errno_");
  EXPECT_EQ(identifier("errno_"), "errno__");
  EXPECT_EQ(identifier("F"), "F");
  EXPECT_EQ(identifier("warm"), "warm");
}

}  // namespace
}  // namespace ripeline::codegen
