#include "cli/numbers.h"

#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace ripeline::cli {
namespace {

// A check that fails with the error of `read`. Help shows `range`.
template <class Read>
CLI::Validator checked(Read read, const std::string& range) {
  return CLI::Validator(
      [read](std::string& text) {
        const auto value = read(text);
        return value.ok() ? std::string() : value.errors().front().message;
      },
      range);
}

}  // namespace

CLI::Validator integer_from(std::int64_t least, std::int64_t most) {
  return checked(
      [least, most](const std::string& text) { return load::integer_in(text, least, most); },
      most == load::kNoLimit ? fmt::format("{} or more", least)
                             : fmt::format("{} to {}", least, most));
}

CLI::Validator number_above_zero() { return checked(load::number_above_zero, "above 0"); }

CLI::Validator number_from_zero() { return checked(load::number_from_zero, "0 or more"); }

}  // namespace ripeline::cli
