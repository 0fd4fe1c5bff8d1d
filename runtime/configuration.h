// Configuration: what the ranks of a run must have equal, beside their program: the number of
// microbatches, seed, learning rate, data. The ranks compare it before they are connected, so that
// no run trains with two of them. Large data are given by a digest.
#pragma once

#include <string>
#include <vector>

namespace ripeline::runtime {

struct Setting {
  std::string name;   // as messages call it
  std::string value;  // as they show it
};
using Configuration = std::vector<Setting>;

}  // namespace ripeline::runtime
