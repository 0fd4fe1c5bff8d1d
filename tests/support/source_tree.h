// Lists the sources of a tree, for the tests of rules that every source must follow.
#pragma once

#include <string>
#include <vector>

namespace ripeline::testing_support {

// Every .h and .cpp below `root`, as sorted relative paths; not those in build or hidden folders.
[[nodiscard]] std::vector<std::string> source_files(const std::string& root);

}  // namespace ripeline::testing_support
