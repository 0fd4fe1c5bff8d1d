// Fraction: exact numbers, for orders with expressions that use exact division.
//
// Kept in lowest terms with a positive denominator. Numerators and denominators must fit in 64 bits
// through every operation, as they do for the counts of tasks that orders compute with.
#pragma once

#include <cstdint>
#include <numeric>

#include "core/order.h"

namespace ripeline::core {

class Fraction {
 public:
  constexpr Fraction(std::int64_t numerator = 0, std::int64_t denominator = 1) {
    const std::int64_t divisor = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
    numerator_ = numerator / divisor;
    denominator_ = denominator / divisor;
  }
  // The fraction rounded down to an integer.
  [[nodiscard]] constexpr std::int64_t whole() const { return floor_div(numerator_, denominator_); }

  friend constexpr Fraction operator+(Fraction a, Fraction b) {
    return {a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_,
            a.denominator_ * b.denominator_};
  }
  friend constexpr Fraction operator-(Fraction a) { return {-a.numerator_, a.denominator_}; }
  friend constexpr Fraction operator-(Fraction a, Fraction b) { return a + -b; }
  friend constexpr Fraction operator*(Fraction a, Fraction b) {
    return {a.numerator_ * b.numerator_, a.denominator_ * b.denominator_};
  }
  friend constexpr Fraction operator/(Fraction a, Fraction b) {
    return {a.numerator_ * b.denominator_, a.denominator_ * b.numerator_};
  }
  friend constexpr bool operator==(Fraction a, Fraction b) = default;
  friend constexpr auto operator<=>(Fraction a, Fraction b) {
    return a.numerator_ * b.denominator_ <=> b.numerator_ * a.denominator_;
  }

 private:
  std::int64_t numerator_;
  std::int64_t denominator_;
};

[[nodiscard]] constexpr Fraction floor(Fraction a) { return a.whole(); }
[[nodiscard]] constexpr Fraction ceil(Fraction a) { return -floor(-a); }
[[nodiscard]] constexpr Fraction floor_div(Fraction a, Fraction b) { return floor(a / b); }
[[nodiscard]] constexpr Fraction ceil_div(Fraction a, Fraction b) { return ceil(a / b); }
[[nodiscard]] constexpr Fraction floor_mod(Fraction a, Fraction b) {
  return a - b * floor_div(a, b);
}

}  // namespace ripeline::core
