#include "cli/numbers.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "load/shorten.h"

namespace ripeline::cli {
namespace {

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string unexpected(const std::string& expected, const std::string& found) {
  return fmt::format("expected {}, and found '{}'", expected, load::shortened(found));
}

CLI::Validator number(double least, bool least_counts, const std::string& expected,
                      const std::string& name) {
  return CLI::Validator(
      [least, least_counts, expected](std::string& text) {
        const auto value = number_in<double>(text);
        const bool fits =
            value && std::isfinite(*value) && (least_counts ? *value >= least : *value > least);
        return fits ? std::string() : unexpected(expected, text);
      },
      name);
}

}  // namespace

std::optional<std::int64_t> integer_in(const std::string& text) {
  return number_in<std::int64_t>(text);
}

CLI::Validator integer_from(std::int64_t least, std::int64_t most) {
  const std::string range = most == kNoLimit ? fmt::format("of {} or more", least)
                                             : fmt::format("from {} to {}", least, most);
  return CLI::Validator(
      [least, most, range](std::string& text) {
        const auto value = integer_in(text);
        if (value && *value >= least && *value <= most) return std::string();
        const bool digits = text.find_first_not_of("0123456789") == text.npos && !text.empty();
        return unexpected("an integer " + (digits && (!value || *value > most)
                                               ? fmt::format("from {} to {}", least, most)
                                               : range),
                          text);
      },
      most == kNoLimit ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most));
}

CLI::Validator number_above_zero() { return number(0, false, "a number above 0", "above 0"); }

CLI::Validator number_from_zero() { return number(0, true, "a number of 0 or more", "0 or more"); }

}  // namespace ripeline::cli
