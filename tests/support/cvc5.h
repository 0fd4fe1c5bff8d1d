// Asks the solver cvc5, which is used to recheck certificates, on behalf of tests.
#pragma once

#include <string>
#include <vector>

#include "certificates/recheck.h"

namespace ripeline::testing_support {

// Passes each text to the program cvc5 (Debian package cvc5) and returns the replies. Blocks.
[[nodiscard]] std::vector<certificates::Reply> ask_cvc5(const std::vector<std::string>& texts);

}  // namespace ripeline::testing_support
