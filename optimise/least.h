// The least amounts for a name of a program: the capacities of a resource, the slots of a channel
// or of `links`, or the credits of `sends`. With these credits, un-grouped sends of a committed
// order are safe.
#pragma once

#include <string>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "optimise/least_capacity.h"
#include "spec/diagnostics.h"
#include "wire/least_sends.h"

namespace ripeline::optimise {

// Fails if the program does not have the name; the error lists the names that it has.
[[nodiscard]] spec::Result<void> check_least(const spec::Program& program, const std::string& name);

using Least = std::variant<LeastCapacity, wire::LeastSends>;
// check_least() must succeed. If a resource or channel is named `sends`, that one is meant.
[[nodiscard]] Least least_of(const spec::Program& program, const std::string& name,
                             const verify::VerifyOptions& options = {});

// The text ends with a newline.
[[nodiscard]] std::string least_text(const std::string& name, const Least& least);
[[nodiscard]] nlohmann::json least_json(const Least& least);

}  // namespace ripeline::optimise
