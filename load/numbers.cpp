#include "load/numbers.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "load/shorten.h"
#include "simulate/amount.h"

namespace ripeline::load {
namespace {

spec::Diagnostic unexpected(const std::string& expected, const std::string& found,
                            const std::string& more = "") {
  return spec::failure(
      fmt::format("expected {}, and found '{}'{}", expected, shortened(found), more));
}

constexpr const char* kAboveZero = "a number above 0";
constexpr const char* kFromZero = "a number of 0 or more";

// The number of bytes in `amount`, which may have a unit.
std::optional<double> bytes_in(const std::string& amount) {
  const auto with_unit = simulate::amount_in(amount);
  if (with_unit && with_unit->dimension == simulate::Dimension::bytes) {
    return with_unit->base.value();
  }
  return simulate::number_in(amount);
}

}  // namespace

spec::Result<std::int64_t> integer_in(const std::string& text, std::int64_t least,
                                      std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && value >= least && value <= most) return value;
  const bool digits = text.find_first_not_of("0123456789") == text.npos && !text.empty();
  const bool names_both = most != kNoLimit || (digits && (!whole || value > most));
  return unexpected(names_both ? fmt::format("an integer from {} to {}", least, most)
                               : fmt::format("an integer of {} or more", least),
                    text);
}

spec::Result<double> number_above_zero(const std::string& text) {
  const auto value = simulate::number_in(text);
  if (value && *value > 0) return *value;
  return unexpected(kAboveZero, text);
}

spec::Result<double> number_from_zero(const std::string& text) {
  if (const auto value = simulate::number_in(text)) return *value;
  return unexpected(kFromZero, text);
}

spec::Result<double> bytes_from_zero(const std::string& text) {
  if (const auto value = bytes_in(text)) return *value;
  return unexpected(kFromZero, text, "; bytes, as 4700000 or 4.7MB");
}

spec::Result<double> bytes_per_second(const std::string& text) {
  const auto value = bytes_in(text.ends_with("/s") ? text.substr(0, text.size() - 2) : text);
  if (value && *value > 0) return *value;
  return unexpected(kAboveZero, text, "; bytes, as 2.5e10 or 25GB/s");
}

}  // namespace ripeline::load
