#include "cli/numbers.h"

#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "load/shorten.h"
#include "simulate/amount.h"

namespace ripeline::cli {
namespace {

std::string unexpected(const std::string& expected, const std::string& found) {
  return fmt::format("expected {}, and found '{}'", expected, load::shortened(found));
}

CLI::Validator number(bool zero_counts, const std::string& expected, const std::string& name) {
  return CLI::Validator(
      [zero_counts, expected](std::string& text) {
        const auto value = simulate::number_in(text);
        const bool fits = value && (zero_counts || *value > 0);
        return fits ? std::string() : unexpected(expected, text);
      },
      name);
}

CLI::Validator bytes(bool from_zero, const std::string& end, const std::string& expected) {
  return CLI::Validator(
      [=](std::string& text) {
        const bool has_end = text.ends_with(end);
        const auto amount =
            simulate::amount_in(has_end ? text.substr(0, text.size() - end.size()) : text);
        if (amount && amount->dimension == simulate::Dimension::bytes) {
          text = fmt::format("{:.17g}", amount->base.value());
        }
        const auto number = (from_zero ? number_from_zero() : number_above_zero())(text);
        return number.empty() ? number : number + "; " + expected;
      },
      expected);
}

}  // namespace

CLI::Validator integer_from(std::int64_t least, std::int64_t most) {
  const std::string range = most == kNoLimit ? fmt::format("of {} or more", least)
                                             : fmt::format("from {} to {}", least, most);
  return CLI::Validator(
      [least, most, range](std::string& text) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = error == std::errc{} && end == text.data() + text.size();
        if (whole && value >= least && value <= most) return std::string();
        const bool digits = text.find_first_not_of("0123456789") == text.npos && !text.empty();
        return unexpected("an integer " + (digits && (!whole || value > most)
                                               ? fmt::format("from {} to {}", least, most)
                                               : range),
                          text);
      },
      most == kNoLimit ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most));
}

CLI::Validator number_above_zero() { return number(false, "a number above 0", "above 0"); }

CLI::Validator number_from_zero() { return number(true, "a number of 0 or more", "0 or more"); }

CLI::Validator bytes_from_zero() { return bytes(true, "", "bytes, as 4700000 or 4.7MB"); }
CLI::Validator bytes_per_second() { return bytes(false, "/s", "bytes, as 2.5e10 or 25GB/s"); }

}  // namespace ripeline::cli
