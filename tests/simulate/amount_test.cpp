// Tests amounts as users write them, and the conversion of costs to one unit.
#include "simulate/amount.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace ripeline::simulate {
namespace {

TEST(Amount, has_its_unit_and_is_exact_in_the_base) {
  const auto bytes = amount_in("1.5GB");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->dimension, Dimension::bytes);
  EXPECT_EQ(bytes->unit, "GB");
  EXPECT_EQ(bytes->base.value(), 1.5e9);
  const auto time = amount_in("0.6ms");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->dimension, Dimension::time);
  EXPECT_EQ(time->base.value(), 600'000);
  const auto plain = amount_in("2.5");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->dimension, Dimension::none);
  EXPECT_EQ(plain->base.value(), 2.5);
}

TEST(Amount, is_none_of_other_texts) {
  for (const char* text : {"", "GB", "1.5 GB", "1parsec", "-1", "999999999TB"}) {
    EXPECT_FALSE(amount_in(text)) << text;
  }
}

TEST(Costs, take_the_unit_that_all_of_them_have) {
  std::optional<trace::Unit> unit;
  std::vector<std::string> costs = {"2ms", "500us", "0"};
  ASSERT_TRUE(use_unit("--costs", costs, unit).ok());
  ASSERT_TRUE(unit);
  EXPECT_EQ(unit->name, "ms");
  EXPECT_EQ(costs, (std::vector<std::string>{"2", "0.5", "0"}));
}

TEST(Costs, have_a_unit_each_or_none) {
  std::optional<trace::Unit> unit;
  std::vector<std::string> costs = {"2ms", "1"};
  const auto used = use_unit("--costs", costs, unit);
  ASSERT_FALSE(used.ok());
  EXPECT_EQ(used.errors().front().message,
            "--costs: expected a unit of time behind each cost, or behind none");
}

}  // namespace
}  // namespace ripeline::simulate
