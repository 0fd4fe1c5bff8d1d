// Expressions as linear functions of q that are exact from some q on.
//
// Comparisons, `min` and `max` are decided by the side that wins for all large q; `first` is raised
// to the q from which that side wins. An expression without such a form throws a Trouble, and so
// does a value that overflows 64 bits. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "spec/expr.h"

namespace ripeline::verify {

// The value (slope * q + base) / divisor, with the divisor above 0.
struct Value {
  std::int64_t slope = 0;
  std::int64_t base = 0;
  std::int64_t divisor = 1;
};

struct Trouble {
  std::string why;
  std::int64_t factor = 1;  // above 1 if a period this many times longer avoids the trouble
  spec::Span span{};
};

class Eventually {
 public:
  using Lookup = std::function<std::optional<Value>(std::string_view)>;

  explicit Eventually(std::int64_t first) : first_(first) {}
  [[nodiscard]] std::int64_t first() const { return first_; }

  [[nodiscard]] Value value(const spec::Expr& expr, const Lookup& lookup);
  [[nodiscard]] Value sum(const Value& a, const Value& b);
  [[nodiscard]] Value difference(const Value& a, const Value& b);
  [[nodiscard]] Value product(const Value& a, const Value& b);
  [[nodiscard]] Value quotient(const Value& a, const Value& b);
  [[nodiscard]] Value floor(const Value& a);
  // The sign, -1, 0 or 1, which holds for every q from `first` on.
  [[nodiscard]] int sign(const Value& a);
  [[nodiscard]] Value least(const Value& a, const Value& b) {
    return sign(difference(a, b)) <= 0 ? a : b;
  }

 private:
  [[nodiscard]] Value binary(const spec::Expr& expr, const Lookup& lookup);
  [[nodiscard]] Value call(const spec::Expr& expr, const Lookup& lookup);

  std::int64_t first_;
};

}  // namespace ripeline::verify
