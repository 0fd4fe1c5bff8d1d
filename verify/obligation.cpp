#include "verify/obligation.h"

#include <algorithm>

namespace ripeline::verify {
namespace {

// The names, in the order of the enumerators.
constexpr std::array<std::string_view, kObligationKinds.size()> kNames = {
    "deadlock", "collectives", "messages", "memory", "once"};
constexpr std::array<std::string_view, 10> kMethodNames = {
    "",      "structure", "counters",  "states", "cuts",
    "graph", "depth",     "induction", "search", "members"};

}  // namespace

std::string name_of(ObligationKind kind) {
  return std::string(kNames[static_cast<std::size_t>(kind)]);
}

std::string name_of(Method method) {
  return std::string(kMethodNames[static_cast<std::size_t>(method)]);
}

std::optional<Method> method_named(std::string_view name) {
  const auto found = std::find(kMethodNames.begin(), kMethodNames.end(), name);
  if (found == kMethodNames.end()) return std::nullopt;
  return static_cast<Method>(found - kMethodNames.begin());
}

}  // namespace ripeline::verify
