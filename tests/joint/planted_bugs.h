// Possible bugs of Rank, Process, Faults, Gathers, the links or a transport, and a search for the
// first seed that reveals a given bug (docs/testing.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/joint/joint_run.h"

namespace ripeline::joint {

using MakeBug = std::function<std::unique_ptr<PlantedBug>()>;

struct NamedBug {
  std::string_view name;
  std::string_view where;  // the part whose bug is imitated
  MakeBug make;
};

[[nodiscard]] const std::vector<NamedBug>& planted_bugs();
// Null if no bug has this name.
[[nodiscard]] MakeBug bug_of(std::string_view name);

struct Finding {
  std::uint64_t seed = 0;
  std::string how;  // the broken invariant, or a survivor's first line
};
// The first seed, among `seeds` seeds from `from` on, whose run with the bug breaks an invariant,
// or blames a process that has no part in the fault and is not blamed in the run without the bug.
[[nodiscard]] std::optional<Finding> first_seed_that_finds(const NamedBug& bug, std::uint64_t from,
                                                           std::uint64_t seeds);

}  // namespace ripeline::joint
