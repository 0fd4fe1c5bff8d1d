// The obligations that a verdict covers and the methods that settle them, with their names.
//
// Reports, certificates and documents use these names; code elsewhere compares no strings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ripeline::verify {

enum class ObligationKind : std::uint8_t {
  deadlock,     // no timing leaves a rank waiting for ever
  collectives,  // members of a group issue their collectives in one order
  messages,     // each message is sent once and received once, in its link's order
  memory,       // no resource exceeds its capacity, and every asserted peak holds
  once,         // every task runs exactly once
};
// The obligations in the order that every verdict has.
inline constexpr std::array kObligationKinds = {
    ObligationKind::deadlock, ObligationKind::collectives, ObligationKind::messages,
    ObligationKind::memory, ObligationKind::once};

enum class Method : std::uint8_t {
  none,       // not settled
  structure,  // proved by construction
  counters,   // readiness-first: counts of ended tasks, every microbatch count at once
  states,     // every state of the listed microbatch counts, or of all, was visited
  cuts,       // committed order: consistent cuts, for every microbatch count at once
  graph,      // committed order: the one run of each microbatch count, as a graph
  depth,      // a proof for every number of ranks
  induction,  // group: its agreement, proved for every number of members
  search,     // group: a run was found
  members,    // group: every state was visited, for its own number of members
};

[[nodiscard]] std::string name_of(ObligationKind kind);
[[nodiscard]] std::string name_of(Method method);  // empty for Method::none
// The method with this name; nullopt if there is none.
[[nodiscard]] std::optional<Method> method_named(std::string_view name);

}  // namespace ripeline::verify
