// Bugs as they might be in Rank, Process, Faults, Gathers, the links or a transport, and how many
// seeds it takes to find each (docs/testing.md).
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
  std::string_view where;  // the part that it stands for
  MakeBug make;
};

[[nodiscard]] const std::vector<NamedBug>& planted_bugs();
// Null: there is none of this name.
[[nodiscard]] MakeBug bug_of(std::string_view name);

struct Finding {
  std::uint64_t seed = 0;
  std::string how;  // the broken invariant, or a survivor's first line
};
// The first seed, of so many from `from`, whose run breaks an invariant with the bug, or blames
// somebody who has no part in it where without the bug nobody does.
[[nodiscard]] std::optional<Finding> first_seed_that_finds(const NamedBug& bug, std::uint64_t from,
                                                           std::uint64_t seeds);

}  // namespace ripeline::joint
