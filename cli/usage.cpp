#include "cli/usage.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "load/shorten.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {
namespace {

// The command that was being parsed, which is the last one that the user named.
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

// The flags that `flag` may mean. Short flags are all alike, so none is suggested for a short one.
std::vector<std::string> flags_near(const std::string& flag, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    if (flag.size() == 2) continue;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// Suggests the only flag that contains what the user wrote, or else the nearest flag.
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

// For -D NAME=VALUE, given to a command without -D: `--NAME VALUE`, or empty if there is no --NAME.
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

// The command's only positional argument, if it takes one word; null if there is no such argument.
const CLI::Option* one_word(const CLI::App& command) {
  const auto options =
      command.get_options([](const CLI::Option* option) { return option->get_positional(); });
  return options.size() == 1 && options.front()->get_expected_max() == 1 ? options.front()
                                                                         : nullptr;
}

// True if the command takes one run, so that the error for a second run mentions `compare`.
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

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc,
                        const char* const* argv) {
  const CLI::App& command = innermost(app);
  const std::string help =
      fmt::format("`{} --help` says what is expected",
                  &command == &app ? app.get_name() : app.get_name() + " " + command.get_name());
  const std::vector<std::string> extras = command.remaining();
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string what = is_extra && !extras.empty()
                               ? unexpected(app, command, extras.front(), {argv, argv + argc})
                               : load::shortened(error.what());
  return fmt::format("ripeline: {}\n{}\n", what, help);
}

}  // namespace ripeline::cli
