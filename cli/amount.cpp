#include "cli/amount.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/shorten.h"
#include "core/vocabulary/byte_unit.h"
#include "simulate/profile.h"
#include "simulate/rank_costs.h"

namespace ripeline::cli {
namespace {

// Nothing: it does not fit.
std::optional<spec::Rational> times(const spec::Rational& value, std::int64_t factor) {
  const std::int64_t common = std::gcd(value.denominator, factor);
  spec::Rational product{0, value.denominator / common};
  if (__builtin_mul_overflow(value.numerator, factor / common, &product.numerator)) {
    return std::nullopt;
  }
  return product;
}

}  // namespace

std::optional<Amount> amount_in(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto value = simulate::decimal(text.substr(0, end));
  if (!value) return std::nullopt;
  Amount amount{.value = *value, .unit = text.substr(end), .base = *value};
  if (amount.unit.empty()) return amount;
  std::int64_t size = 1;
  if (const auto bytes = core::bytes_of_unit(amount.unit)) {
    amount.dimension = Dimension::bytes;
    size = *bytes;
  } else if (const auto unit = simulate::unit_named(amount.unit)) {
    amount.dimension = Dimension::time;
    size = unit->nanoseconds;
  } else {
    return std::nullopt;
  }
  const auto base = times(*value, size);
  if (!base) return std::nullopt;
  amount.base = *base;
  return amount;
}

spec::Result<void> use_unit(const std::string& flag, std::vector<std::string>& costs,
                            std::optional<trace::Unit>& unit) {
  std::vector<std::optional<Amount>> amounts;
  bool with = false;
  bool without = false;
  for (const std::string& cost : costs) {
    amounts.push_back(amount_in(cost));
    if (!amounts.back()) return {};
    with = with || amounts.back()->dimension == Dimension::time;
    without = without || (amounts.back()->dimension != Dimension::time &&
                          amounts.back()->value.numerator != 0);
  }
  if (!with) return {};
  if (without) {
    return failure(flag + ": expected a unit of time behind each cost, or behind none");
  }
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!unit) unit = simulate::unit_named(amounts[i]->unit);
    const auto nanoseconds = static_cast<double>(unit.value_or(trace::Unit{}).nanoseconds);
    costs[i] = fmt::format("{:.12g}", amounts[i]->base.value() / nanoseconds);
  }
  return {};
}

spec::Result<double> time_in(const std::string& flag, const std::string& text,
                             const std::optional<trace::Unit>& unit) {
  std::string number = text;
  const std::string wrong = number_from_zero()(number);
  if (wrong.empty()) return std::stod(text);
  const auto amount = amount_in(text);
  if (!amount || amount->dimension != Dimension::time) {
    return failure(fmt::format("{}: {}; a time with a unit is one as 0.6ms", flag, wrong));
  }
  if (!unit) {
    return failure(
        fmt::format("{} {}: the costs have no unit; --unit {} says that a cost of 1 takes 1 {}",
                    flag, text, amount->unit, amount->unit));
  }
  return amount->base.value() / static_cast<double>(unit->nanoseconds);
}

namespace {

CLI::Validator bytes(bool from_zero, const std::string& end, const std::string& expected) {
  return CLI::Validator(
      [=](std::string& text) {
        const bool has_end = text.ends_with(end);
        const auto amount = amount_in(has_end ? text.substr(0, text.size() - end.size()) : text);
        if (amount && amount->dimension == Dimension::bytes) {
          text = fmt::format("{:.17g}", amount->base.value());
        }
        const auto number = (from_zero ? number_from_zero() : number_above_zero())(text);
        return number.empty() ? number : number + "; " + expected;
      },
      expected);
}

}  // namespace

CLI::Validator bytes_from_zero() { return bytes(true, "", "bytes, as 4700000 or 4.7MB"); }
CLI::Validator bytes_per_second() { return bytes(false, "/s", "bytes, as 2.5e10 or 25GB/s"); }

}  // namespace ripeline::cli
