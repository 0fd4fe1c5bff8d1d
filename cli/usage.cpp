#include "cli/usage.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shorten.h"
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

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string unexpected(const CLI::App& app, const CLI::App& command, const std::string& argument) {
  const std::string shown = shortened(argument);
  if (argument.starts_with('-')) {
    const std::string flag = argument.substr(0, argument.find('='));
    const std::string owner = &command == &app ? app.get_name() : command.get_name();
    return fmt::format("{} has no flag {}{}", owner, shortened(flag),
                       did_you_mean(flag, flags_of(command)));
  }
  if (&command != &app) return fmt::format("{} takes no '{}'", command.get_name(), shown);
  const std::vector<std::string> names = commands_of(app);
  const std::string meant = did_you_mean(argument, names);
  return fmt::format(
      "there is no command '{}'{}", shown,
      meant.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : meant);
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::string help =
      fmt::format("`{} --help` says what is expected",
                  &command == &app ? app.get_name() : app.get_name() + " " + command.get_name());
  const std::vector<std::string> extras = command.remaining();
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string what = is_extra && !extras.empty() ? unexpected(app, command, extras.front())
                                                       : shortened(error.what());
  return fmt::format("ripeline: {}\n{}\n", what, help);
}

std::optional<std::string> too_large(int argc, const char* const* argv) {
  constexpr std::size_t kMostDigits = 20;  // of a number of 64 bits
  for (int i = 2; i < argc; ++i) {
    const std::string flag = argv[i - 1];
    if (flag == "--") return std::nullopt;
    // These say their range themselves.
    if (!flag.starts_with('-') || flag == "-m" || flag == "--microbatches") continue;
    const std::string value = argv[i];
    const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || value.size() <= kMostDigits) continue;
    return fmt::format("ripeline: {} {} does not fit: expected a number of at most {}\n", flag,
                       shortened(value), std::numeric_limits<std::int64_t>::max());
  }
  return std::nullopt;
}

}  // namespace ripeline::cli
