// The text of a replay on its last state, as all arbiters give it. Pure function.
#pragma once

#include <regex>
#include <string>

namespace ripeline::testing_support {

// Generated arbiters say what their order puts first only where a rendezvous asks for it.
[[nodiscard]] inline std::string without_orders(const std::string& state) {
  return std::regex_replace(state, std::regex("its turn: the order puts [^ ]+ first"), "its turn");
}

}  // namespace ripeline::testing_support
