#include "python/limits.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>

#include "python/failure.h"

namespace ripeline::python {
namespace {

template <class Number>
[[noreturn]] void refuse(const char* flag, const std::string& expected, Number found) {
  std::array<char, 64> digits;
  const char* const end = std::to_chars(digits.begin(), digits.end(), found).ptr;
  const std::string text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  throw Failure(
      {spec::failure(std::string(flag) + ": expected " + expected + ", and found '" + text + "'")});
}

}  // namespace

int whole(const char* flag, std::int64_t value, int least, int most) {
  if (value < least || value > most) {
    refuse(flag, "an integer from " + std::to_string(least) + " to " + std::to_string(most), value);
  }
  return static_cast<int>(value);
}

double from_zero(const char* flag, double value) {
  if (!std::isfinite(value) || value < 0) refuse(flag, "a number of 0 or more", value);
  return value;
}

}  // namespace ripeline::python
