// The sources of a tree: what every rule about sources is about, in whatever folder they lie.
#pragma once

#include <string>
#include <vector>

namespace ripeline::testing_support {

// Every .h and .cpp below `root`, as paths from there, in order; none of what is built or hidden.
[[nodiscard]] std::vector<std::string> source_files(const std::string& root);

}  // namespace ripeline::testing_support
