#include "load/numbers.h"

#include <gtest/gtest.h>

namespace ripeline::load {
namespace {

template <class T>
std::string error_of(const spec::Result<T>& read) {
  return read.ok() ? "" : read.errors().front().message;
}

TEST(Numbers, are_integers_within_their_bounds) {
  EXPECT_EQ(integer_in("7", 1).value(), 7);
  EXPECT_EQ(integer_in("20", 20, 99).value(), 20);
  EXPECT_EQ(error_of(integer_in("0", 1)), "expected an integer of 1 or more, and found '0'");
  EXPECT_EQ(error_of(integer_in("2.5", 1)), "expected an integer of 1 or more, and found '2.5'");
  EXPECT_EQ(error_of(integer_in("3000000000", 1)),
            "expected an integer from 1 to 2147483647, and found '3000000000'");
  EXPECT_EQ(error_of(integer_in("100", 20, 99)),
            "expected an integer from 20 to 99, and found '100'");
}

TEST(Numbers, may_be_rates_and_bytes) {
  EXPECT_EQ(bytes_per_second("25GB/s").value(), 2.5e10);
  EXPECT_EQ(bytes_per_second("25GB").value(), 2.5e10);
  EXPECT_EQ(bytes_per_second("1e3").value(), 1000);
  for (const char* const none : {"", "0", "-1", "x", "inf", "25ms", "25GB/h"}) {
    EXPECT_FALSE(bytes_per_second(none).ok()) << none;
  }
  EXPECT_EQ(bytes_from_zero("0").value(), 0);
  EXPECT_EQ(bytes_from_zero("4.7MB").value(), 4.7e6);
  for (const char* const none : {"", "-1", "MB", "4.7MB/s", "1ms"}) {
    EXPECT_FALSE(bytes_from_zero(none).ok()) << none;
  }
  EXPECT_EQ(error_of(bytes_per_second("fast")),
            "expected a number above 0, and found 'fast'; bytes, as 2.5e10 or 25GB/s");
}

}  // namespace
}  // namespace ripeline::load
