#include "load/times.h"

#include <gtest/gtest.h>

namespace ripeline::load {
namespace {

TEST(Times, have_units_or_are_in_that_of_the_costs) {
  const auto latency_of = [](const std::string& text, const std::string& unit = "") {
    const auto read = read_timing({.unit = unit, .latency = text});
    return read.ok() ? read.value().latency : std::nullopt;
  };
  EXPECT_EQ(latency_of(""), std::nullopt);
  EXPECT_EQ(latency_of("0.5"), 0.5);
  EXPECT_EQ(latency_of("600us", "ms"), 0.6);
  EXPECT_EQ(latency_of("600us"), std::nullopt) << "costs of 1 have no unit";
  EXPECT_EQ(latency_of("1e-320"), 1e-320) << "a subnormal number";
  for (const char* const none : {"-1", "x", "1x", "inf", "1e999", "4GB"}) {
    EXPECT_EQ(latency_of(none), std::nullopt) << none;
  }
}

TEST(Times, of_links_are_in_bytes) {
  const auto read = read_timing({.bandwidth = "25GB/s", .bytes = "4.7MB"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().bytes_per_second, 2.5e10);
  EXPECT_EQ(read.value().message_bytes, 4.7e6);
  const auto error_of = [](const TimeOptions& options) {
    return read_timing(options).errors().front().message;
  };
  EXPECT_EQ(error_of({.bandwidth = "1GB/s"}), "--bandwidth needs --bytes, the size of a message");
  EXPECT_EQ(error_of({.bandwidth = "0", .bytes = "1"}),
            "--bandwidth: expected a number above 0, and found '0'; bytes, as 2.5e10 or 25GB/s");
  EXPECT_EQ(error_of({.bytes = "some"}),
            "--bytes: expected a number of 0 or more, and found 'some'; bytes, as 4700000 or "
            "4.7MB");
}

TEST(Times, of_a_rank_bring_their_unit) {
  const auto read = read_timing({.unit = "", .rank_costs = "F=1ms,B=2ms"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().unit->name, "ms");
  EXPECT_EQ(read.value().rank_costs->backward.value(), 2);
}

}  // namespace
}  // namespace ripeline::load
