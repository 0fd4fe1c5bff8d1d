// The text of a replay about its last state, reduced to what all arbiters report. Pure function.
#pragma once

#include <regex>
#include <string>

namespace ripeline::testing_support {

// Generated arbiters report the next task of their order only if a rendezvous requires it.
[[nodiscard]] inline std::string without_orders(const std::string& state) {
  return std::regex_replace(state, std::regex("its turn: the order puts [^ ]+ first"), "its turn");
}

}  // namespace ripeline::testing_support
