// What a replay says of its last state, as all arbiters say it. Pure function.
#pragma once

#include <regex>
#include <string>

namespace ripeline::testing_support {

// Generated arbiters say what their order puts first only where a rendezvous asks for it.
[[nodiscard]] inline std::string without_orders(const std::string& state) {
  return std::regex_replace(state, std::regex("its turn: the order puts [^ ]+ first"), "its turn");
}

}  // namespace ripeline::testing_support
