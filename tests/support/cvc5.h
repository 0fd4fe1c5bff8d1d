// The solver that certificates are rechecked with, as tests ask it.
#pragma once

#include <string>
#include <vector>

#include "certificates/recheck.h"

namespace ripeline::testing_support {

// Asks the program cvc5 (Debian package cvc5) each text. Blocks.
[[nodiscard]] std::vector<certificates::Reply> ask_cvc5(const std::vector<std::string>& texts);

}  // namespace ripeline::testing_support
