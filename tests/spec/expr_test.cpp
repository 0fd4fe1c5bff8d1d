#include "spec/expr.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "spec/parse.h"

namespace ripeline::spec {
namespace {

Expr expression(const std::string& text) {
  const Source source{"test.ripe", "pipeline p { param x = " + text + "; }"};
  auto tree = parse(source);
  EXPECT_TRUE(tree.ok()) << render(source, tree.errors());
  return std::get<ast::Param>(tree.value().items.at(0).value).value;
}

std::optional<Rational> known(std::string_view name) {
  if (name == "a") return Rational{7, 1};
  if (name == "b") return Rational{-2, 1};
  if (name == "half") return Rational{1, 2};
  return std::nullopt;
}

std::string shown(const Result<Rational>& value) {
  if (!value.ok()) return value.errors().front().id;
  const Rational& v = value.value();
  return std::to_string(v.numerator) + (v.is_integer() ? "" : "/" + std::to_string(v.denominator));
}

struct Case {
  const char* text;
  const char* expected;
};

TEST(Expr, evaluates) {
  const Case cases[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 4 - 3", "3"},
      {"100 / 10 / 4", "5/2"},
      {"a / b", "-7/2"},
      {"a div b", "-4"},
      {"a % b", "-1"},
      {"-a div 2", "-4"},
      {"-a % 2", "1"},
      {"-(a div 2)", "-3"},
      {"0.5 + 0.25", "3/4"},
      {"0.50 == half", "1"},
      {"1.5 div half", "3"},
      {"a > 6 and b < 0", "1"},
      {"a < 6 or b >= 0", "0"},
      {"not a < 6", "1"},
      {"not a < 6 and 0", "0"},
      {"a != 7 ? 1 : b == -2 ? 2 : 3", "2"},
      {"min(3, a, b)", "-2"},
      {"max(3, a, b)", "7"},
      {"ceil(a / 2)", "4"},
      {"floor(a / 2)", "3"},
      {"ceil(-a / 2)", "-3"},
      {"floor(-a / 2)", "-4"},
      {"ceil(3)", "3"},
      {"- -a", "7"},
      {"c", "expr-unknown-name"},
      {"0 and c", "0"},
      {"1 or c", "1"},
      {"1 ? 2 : c", "2"},
      {"1 / (a - 7)", "expr-division-by-zero"},
      {"1 div 0", "expr-division-by-zero"},
      {"1 % 0", "expr-division-by-zero"},
      {"9223372036854775807 + 1", "expr-overflow"},
      {"9223372036854775807 * 9223372036854775807", "expr-overflow"},
      {"9223372036854775807 - 1 + 1", "9223372036854775807"},
      {"-9223372036854775807 - 1", "expr-overflow"},
      {"1 / 9223372036854775807 / 2", "expr-overflow"},
      {"9223372036854775807 * 2 / 2", "expr-overflow"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(shown(evaluate(expression(c.text), known)), c.expected) << c.text;
  }
}

TEST(Expr, has_a_value_as_a_double) {
  EXPECT_EQ((Rational{3, 2}.value()), 1.5);
  EXPECT_EQ((Rational{-1, 10}.value()), -0.1);
  EXPECT_EQ((Rational{std::numeric_limits<std::int64_t>::max(), 1}.value()), 0x1p63);
  EXPECT_EQ(Rational{}.value(), 0);
}

TEST(Expr, reports_overflow_of_numbers_that_no_text_gives) {
  const auto smallest = [](std::string_view) -> std::optional<Rational> {
    return Rational{std::numeric_limits<std::int64_t>::min(), 1};
  };
  for (const char* text : {"-n", "n - 1", "n * n", "1 / n", "n div -1", "n + n"}) {
    EXPECT_EQ(shown(evaluate(expression(text), smallest)), "expr-overflow") << text;
  }
  EXPECT_EQ(shown(evaluate(expression("ceil(n)"), smallest)), "-9223372036854775808");
}

TEST(Expr, prints_with_the_fewest_parentheses) {
  const Case cases[] = {
      {"((1))+(2*3)", "1 + 2 * 3"},
      {"(1 + 2) * 3", "(1 + 2) * 3"},
      {"1 - (2 - 3)", "1 - (2 - 3)"},
      {"(1 - 2) - 3", "1 - 2 - 3"},
      {"1 / (2 * 3)", "1 / (2 * 3)"},
      {"-(a + b)", "-(a + b)"},
      {"-(a * b)", "-(a * b)"},
      {"(-a) * b", "-a * b"},
      {"- - a", "--a"},
      {"a - -b", "a - -b"},
      {"not (a and b)", "not (a and b)"},
      {"(not a) and b", "not a and b"},
      {"not (a < b)", "not a < b"},
      {"(not a) == b", "(not a) == b"},
      {"(a < b) == (c < d)", "(a < b) == (c < d)"},
      {"a and (b or c)", "a and (b or c)"},
      {"(a or b) or c", "a or b or c"},
      {"a or (b or c)", "a or (b or c)"},
      {"a ? b : (c ? d : e)", "a ? b : c ? d : e"},
      {"(a ? b : c) ? d : e", "(a ? b : c) ? d : e"},
      {"a ? (b ? c : d) : e", "a ? (b ? c : d) : e"},
      {"(a ? b : c) + 1", "(a ? b : c) + 1"},
      {"min((a ? b : c), (d))", "min(a ? b : c, d)"},
      {"a div (b % c)", "a div (b % c)"},
      {"007 + 0.50", "007 + 0.50"},
  };
  for (const Case& c : cases) {
    const Expr expr = expression(c.text);
    EXPECT_EQ(print(expr), c.expected);
    EXPECT_TRUE(same(expr, expression(print(expr)))) << c.text;
  }
}

TEST(Expr, folds_what_is_known) {
  const Case cases[] = {
      {"a + 1", "8"},
      {"a + m", "7 + m"},
      {"m - (a - 9)", "m - -2"},
      {"m * (1 / 3)", "m * (1 / 3)"},
      {"b * m", "-2 * m"},
      {"a > 3 ? m : n", "m"},
      {"min(a, 2) * chunks", "2 * chunks"},
      {"1 / (a - 7) + m", "1 / 0 + m"},
      {"2 * half * m", "1 * m"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(print(fold(expression(c.text), known)), c.expected) << c.text;
  }
}

TEST(Expr, lists_names_once_in_order) {
  EXPECT_EQ(names_in(expression("b + a * b ? c : min(a, d)")),
            (std::vector<std::string>{"b", "a", "c", "d"}));
}

}  // namespace
}  // namespace ripeline::spec
