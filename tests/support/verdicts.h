// The first and last steps of tests of verdicts: text to a Program, and a verdict to an obligation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/verify.h"

namespace ripeline::testing_support {

// Fails the test and throws if it does not compile.
[[nodiscard]] spec::Program compiled(const std::string& text);

// Throws std::out_of_range where there is none of this name.
[[nodiscard]] const verify::Obligation& find(const verify::Verdict& verdict,
                                             const std::string& name);

// The bounds of the resource's instances, by proved memory; nothing, where they grow.
[[nodiscard]] std::vector<std::optional<std::int64_t>> peaks_of(const verify::Verdict& verdict,
                                                                const std::string& resource);

}  // namespace ripeline::testing_support
