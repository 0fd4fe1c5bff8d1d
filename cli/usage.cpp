#include "cli/usage.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "load/shorten.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {
namespace {

// The command that was being read: that of the last word which names one.
const CLI::App& innermost(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : innermost(*commands.back());
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const auto meant = spec::nearest(word, names);
  return meant ? fmt::format(". Did you mean {}?", *meant) : std::string();
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Those that may be meant by `flag`: one letter is as near to any other.
std::vector<std::string> flags_near(const std::string& flag, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    if (flag.size() == 2) continue;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// The flag of which the user wrote a part, if there is one alone, or what is nearest.
std::string flag_meant(const std::string& flag, const CLI::App& command) {
  constexpr std::size_t kLeastPart = 4;
  const std::vector<std::string> names = flags_near(flag, command);
  const std::string part = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  const auto has_part = [&](const std::string& name) { return name.find(part) != name.npos; };
  const bool alone =
      part.size() >= kLeastPart && std::count_if(names.begin(), names.end(), has_part) == 1;
  if (!alone) return did_you_mean(flag, names);
  return fmt::format(". Did you mean {}?", *std::find_if(names.begin(), names.end(), has_part));
}

// For -D NAME=VALUE of a command without -D, its own flag NAME, or nothing.
std::string flag_of_define(const CLI::App& command, const std::vector<std::string>& words) {
  const auto define = std::find_if(words.begin(), words.end(),
                                   [](const std::string& word) { return word.starts_with("-D"); });
  if (define == words.end()) return {};
  const bool apart = *define == "-D";
  if (apart && define + 1 == words.end()) return {};
  const std::string text = apart ? *(define + 1) : define->substr(2);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return {};
  const std::string flag = "--" + text.substr(0, equals);
  if (command.get_option_no_throw(flag) == nullptr) return {};
  return load::shortened(flag + " " + text.substr(equals + 1));
}

// The only positional of a command that takes one word for it.
const CLI::Option* one_word(const CLI::App& command) {
  const auto options =
      command.get_options([](const CLI::Option* option) { return option->get_positional(); });
  return options.size() == 1 && options.front()->get_expected_max() == 1 ? options.front()
                                                                         : nullptr;
}

// One that compares runs is of use where a run was asked for.
bool runs_one(const CLI::App& command) {
  constexpr std::array<std::string_view, 4> kRuns = {"simulate", "emulate", "show", "step"};
  return std::find(kRuns.begin(), kRuns.end(), command.get_name()) != kRuns.end();
}

std::string unexpected(const CLI::App& app, const CLI::App& command, const std::string& argument,
                       const std::vector<std::string>& words) {
  const std::string shown = load::shortened(argument);
  if (argument.starts_with('-')) {
    const std::string flag = argument.substr(0, argument.find('='));
    const std::string owner = &command == &app ? app.get_name() : command.get_name();
    if (flag.starts_with("-D")) {
      const std::string own = flag_of_define(command, words);
      if (!own.empty()) return fmt::format("{} has no flag -D: say `{}`", owner, own);
    }
    return fmt::format("{} has no flag {}{}", owner, load::shortened(flag),
                       flag_meant(flag, command));
  }
  if (const CLI::Option* one = one_word(command); &command != &app && one != nullptr) {
    return fmt::format("{} takes one {}{} ('{}' is one too many)", command.get_name(),
                       one->get_name(), runs_one(command) ? "; `compare` takes several" : "",
                       shown);
  }
  if (&command != &app) return fmt::format("{} takes no '{}'", command.get_name(), shown);
  const std::vector<std::string> names = commands_of(app);
  const std::string meant = did_you_mean(argument, names);
  return fmt::format(
      "there is no command '{}'{}", shown,
      meant.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : meant);
}

// The error for a value that is not of its flag's type, which CLI11 names in --help alone. Ranges
// are checked where the flags are added (cli/numbers.h).
std::optional<std::string> unconverted(const CLI::App& command, const CLI::ParseError& error) {
  const std::string what = error.what();
  for (const CLI::Option* option : command.get_options()) {
    const std::string before = "Could not convert: " + option->get_name() + " = ";
    if (!what.starts_with(before)) continue;
    const std::string type = option->get_type_name();
    const char* const expected = type.starts_with("UINT")    ? "an integer of 0 or more"
                                 : type.starts_with("INT")   ? "an integer"
                                 : type.starts_with("FLOAT") ? "a number"
                                                             : nullptr;
    if (expected == nullptr) return std::nullopt;
    return fmt::format("{}: expected {}, and found '{}'", option->get_name(), expected,
                       load::shortened(what.substr(before.size())));
  }
  return std::nullopt;
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc,
                        const char* const* argv) {
  const CLI::App& command = innermost(app);
  const std::string help =
      fmt::format("`{} --help` says what is expected",
                  &command == &app ? app.get_name() : app.get_name() + " " + command.get_name());
  const std::vector<std::string> extras = command.remaining();
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string what =
      is_extra && !extras.empty()
          ? unexpected(app, command, extras.front(), {argv, argv + argc})
          : unconverted(command, error).value_or(load::shortened(error.what()));
  return fmt::format("ripeline: {}\n{}\n", what, help);
}

std::optional<std::string> too_large(int argc, const char* const* argv) {
  constexpr std::size_t kMostDigits = 20;  // in a number of 64 bits
  for (int i = 2; i < argc; ++i) {
    const std::string flag = argv[i - 1];
    if (flag == "--") return std::nullopt;
    // These say their range themselves.
    if (!flag.starts_with('-') || flag == "-m" || flag == "--microbatches") continue;
    const std::string value = argv[i];
    const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || value.size() <= kMostDigits) continue;
    return fmt::format("ripeline: {} {} does not fit: expected a number of at most {}\n", flag,
                       load::shortened(value), std::numeric_limits<std::int64_t>::max());
  }
  return std::nullopt;
}

}  // namespace ripeline::cli
