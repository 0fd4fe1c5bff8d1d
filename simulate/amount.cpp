#include "simulate/amount.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/vocabulary/byte_unit.h"
#include "simulate/profile.h"
#include "simulate/rank_costs.h"

namespace ripeline::simulate {
namespace {

// The product; nullopt if it overflows.
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
  const auto value = decimal(text.substr(0, end));
  if (!value) return std::nullopt;
  Amount amount{.value = *value, .unit = text.substr(end), .base = *value};
  if (amount.unit.empty()) return amount;
  std::int64_t size = 1;
  if (const auto bytes = core::bytes_of_unit(amount.unit)) {
    amount.dimension = Dimension::bytes;
    size = *bytes;
  } else if (const auto unit = unit_named(amount.unit)) {
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

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

spec::Result<std::optional<std::int64_t>> clock_in(const std::string& text) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (end == text.data()) return std::optional<std::int64_t>();
  const auto unit = unit_named(std::string(end, text.data() + text.size()));
  constexpr double kMost = 1e12;
  const double nanoseconds = unit ? count * static_cast<double>(unit->nanoseconds) : 0;
  if (error != std::errc{} || !(nanoseconds >= 1) || nanoseconds > kMost) {
    return spec::failure(
        fmt::format("'{}' is no time, as 5ms, and none of ns, us, ms and s", text));
  }
  return std::optional(static_cast<std::int64_t>(nanoseconds));
}

spec::Result<void> use_unit(const std::string& option, std::vector<std::string>& costs,
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
    return spec::failure(option + ": expected a unit of time behind each cost, or behind none");
  }
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!unit) unit = unit_named(amounts[i]->unit);
    const auto nanoseconds = static_cast<double>(unit.value_or(trace::Unit{}).nanoseconds);
    costs[i] = fmt::format("{:.12g}", amounts[i]->base.value() / nanoseconds);
  }
  return {};
}

}  // namespace ripeline::simulate
