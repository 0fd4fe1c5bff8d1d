// Tests that no value is outside the range that is computed from the ranges of the names.
#include "spec/ranges.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "spec/ast.h"
#include "spec/parse.h"

namespace ripeline::spec {
namespace {

// The ranges of names: x is in -3 .. 4, y in 1 .. 5, and `big` nearly fills 64 bits.
constexpr Range kX{-3, 4};
constexpr Range kY{1, 5};
constexpr Range kBig{0, 9'000'000'000'000'000'000};

Expr parsed(const std::string& text) {
  const auto pipeline = parse({"ranges", "pipeline p { param e = " + text + "; }"});
  EXPECT_TRUE(pipeline.ok()) << text;
  return pipeline.ok() ? std::get<ast::Param>(pipeline.value().items.front().value).value : Expr();
}

Result<Range> range_of(const std::string& text) {
  return spec::range_of(parsed(text), [](std::string_view name) -> std::optional<Range> {
    if (name == "x") return kX;
    if (name == "y") return kY;
    if (name == "big") return kBig;
    return std::nullopt;
  });
}

TEST(Ranges, are_those_of_the_parts) {
  const std::pair<const char*, Range> kRows[] = {
      {"x + y", {-2, 9}},
      {"x - y", {-8, 3}},
      {"x * x", {-12, 16}},
      {"-x", {-4, 3}},
      {"x div y", {-3, 4}},
      {"x % y", {0, 4}},
      {"x % -y", {-4, 0}},
      {"(y - 1) % 10", {0, 4}},
      {"floor(x / y)", {-3, 4}},
      {"ceil(x / 2)", {-1, 2}},
      {"min(x, y)", {-3, 4}},
      {"max(x, y)", {1, 5}},
      {"x < y", {0, 1}},
      {"x < 5", {1, 1}},
      {"y <= 0", {0, 0}},
      {"x == y", {0, 1}},
      {"not y", {0, 0}},
      {"y > 0 ? 1 : big * big", {1, 1}},
      {"y < 1 and 1 div 0", {0, 0}},
      {"y or 1 div 0", {1, 1}},
      {"x ? x : 7", {-3, 7}},
      {"big + 1", {1, 9'000'000'000'000'000'001}},
  };
  for (const auto& [text, expected] : kRows) {
    const Result<Range> range = range_of(text);
    ASSERT_TRUE(range.ok()) << text;
    EXPECT_EQ(range.value().least, expected.least) << text;
    EXPECT_EQ(range.value().most, expected.most) << text;
  }
}

TEST(Ranges, refuse_what_may_have_no_value) {
  const std::pair<const char*, const char*> kRows[] = {
      {"big * 2", "range-overflow"},
      {"big + big - big", "range-overflow"},
      {"big % (big + 1) + x div (y - 3)", "range-overflow"},
      {"x div (y - 3)", "range-division-by-zero"},
      {"x % x", "range-division-by-zero"},
      {"floor(x / (y - 1))", "range-division-by-zero"},
      {"x > 0 ? y div x : 0", "range-division-by-zero"},
      {"x / y", "range-not-integer"},
      {"1 / 2 + x", "range-not-integer"},
      {"floor(x / y + 1)", "range-not-integer"},
  };
  for (const auto& [text, id] : kRows) {
    const Result<Range> range = range_of(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_EQ(range.errors().front().id, id) << text;
  }
}

// For all values of the names, the value of the expression must be in the range.
TEST(Ranges, hold_every_value) {
  for (const char* text :
       {"x * y - x * x", "(x * 3) div y", "(x * 3) % y", "(x * 3) % -y", "x div -y",
        "min(x, y, 2) - max(x, -y)", "x < y and y > 2 ? x - y : x % 3",
        "ceil(x / y) - floor(y / 2)", "(x == 2 or not (y >= 4)) + x", "x != y ? -x : y div 2"}) {
    const Result<Range> range = range_of(text);
    ASSERT_TRUE(range.ok()) << text;
    const Expr expr = parsed(text);
    for (std::int64_t x = kX.least; x <= kX.most; ++x) {
      for (std::int64_t y = kY.least; y <= kY.most; ++y) {
        const auto value = evaluate(expr, [&](std::string_view name) -> std::optional<Rational> {
          return Rational{name == "x" ? x : y, 1};
        });
        ASSERT_TRUE(value.ok()) << text;
        EXPECT_TRUE(value.value().is_integer()) << text;
        EXPECT_GE(value.value().numerator, range.value().least) << text << " " << x << " " << y;
        EXPECT_LE(value.value().numerator, range.value().most) << text << " " << x << " " << y;
      }
    }
  }
}

}  // namespace
}  // namespace ripeline::spec
