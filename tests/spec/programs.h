// Programs that use every construct of the language, for tests of parsing and printing.
#pragma once

#include <string>
#include <vector>

namespace ripeline::testing_support {

// The five programs on the language's page. The last two programs each join fragments of that page
// into one pipeline.
[[nodiscard]] const std::vector<std::string>& example_programs();

}  // namespace ripeline::testing_support
