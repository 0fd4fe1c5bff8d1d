// A flag that takes one of a few names, each of which stands for a value.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

namespace ripeline::cli {

// `target` must outlive the command. Without the flag, `target` is not changed.
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

// The same as add_choice(), for values whose names are given by name_of().
template <class Value, class Target>
CLI::Option* add_named_choice(CLI::App& command, const char* name, Target& target,
                              std::initializer_list<Value> values, const char* help) {
  std::vector<std::pair<std::string, Value>> named;
  for (const Value value : values) named.emplace_back(name_of(value), value);
  return add_choice<Target, Value>(command, name, target, named, help);
}

}  // namespace ripeline::cli
