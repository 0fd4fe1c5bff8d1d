#include "cli/amount.h"

#include <fmt/format.h>

#include "cli/failure.h"
#include "cli/numbers.h"
#include "simulate/amount.h"

namespace ripeline::cli {

using simulate::amount_in;
using simulate::Dimension;

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
