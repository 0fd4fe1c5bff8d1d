// An argument that is one of a few names, each of which stands for a value with name_of().
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "python/failure.h"

namespace ripeline::python {

// The value with this name; nullopt without a name. Throws Failure, which names the option of the
// command line, for any other name.
template <class Value>
[[nodiscard]] std::optional<Value> chosen(const std::string& option,
                                          const std::optional<std::string>& name,
                                          std::initializer_list<Value> values) {
  if (!name) return std::nullopt;
  std::string names;
  for (const Value& value : values) {
    const std::string other = name_of(value);
    if (other == *name) return value;
    names += (names.empty() ? "" : ", ") + other;
  }
  spec::Diagnostic error = spec::failure("'" + *name + "' is none of " + names);
  error.option = option;
  throw Failure({error});
}

}  // namespace ripeline::python
