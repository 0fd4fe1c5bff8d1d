// Steps that most tests of verdicts share: text to a Program, and a verdict to an obligation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/verify.h"

namespace ripeline::testing_support {

// Fails the test and throws if the text does not compile.
[[nodiscard]] spec::Program compiled(const std::string& text);

// Throws std::out_of_range if the verdict has no obligation `name`.
[[nodiscard]] const verify::Obligation& find(const verify::Verdict& verdict,
                                             const std::string& name);

// The proved memory bound of each instance of the resource; nullopt where the memory grows.
[[nodiscard]] std::vector<std::optional<std::int64_t>> peaks_of(const verify::Verdict& verdict,
                                                                const std::string& resource);

}  // namespace ripeline::testing_support
