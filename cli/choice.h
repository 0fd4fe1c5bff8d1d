// A flag that takes one of a few names, each of which stands for a value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

namespace ripeline::cli {

// `target` is the command's and outlives it; without the flag it stays as it is.
template <class Target, class Value>
CLI::Option* add_choice(CLI::App& command, const char* name, Target& target,
                        const std::vector<std::pair<std::string, Value>>& values,
                        const char* help) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.first);
  return command
      .add_option_function<std::string>(
          name,
          [&target, values](const std::string& text) {
            for (const auto& [value_name, value] : values) {
              if (value_name == text) target = value;
            }
          },
          help)
      ->check(CLI::IsMember(names));
}

}  // namespace ripeline::cli
