// Programs that use every construct of the language, for tests of parsing and printing.
#pragma once

#include <string>
#include <vector>

namespace ripeline::testing_support {

// The five of the language's page: the last two in the form of one pipeline for each group of
// fragments.
[[nodiscard]] const std::vector<std::string>& example_programs();

}  // namespace ripeline::testing_support
