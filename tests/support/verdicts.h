// What tests of verdicts do first and last: text to a Program, and a verdict to an obligation.
#pragma once

#include <string>

#include "verify/verify.h"

namespace ripeline::testing_support {

// Fails the test and throws if it does not compile.
[[nodiscard]] spec::Program compiled(const std::string& text);

// Throws std::out_of_range where there is none of this name.
[[nodiscard]] const verify::Obligation& find(const verify::Verdict& verdict,
                                             const std::string& name);

}  // namespace ripeline::testing_support
