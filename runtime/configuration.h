// Configuration: the settings, beside the program, that must be equal on all ranks of a run, such
// as the number of microbatches, seed, learning rate and data. The ranks compare them before they
// are connected, so that no run trains with two configurations. Large data are compared by digest.
#pragma once

#include <string>
#include <vector>

namespace ripeline::runtime {

struct Setting {
  std::string name;   // its name in error messages
  std::string value;  // its text in error messages
};
using Configuration = std::vector<Setting>;

}  // namespace ripeline::runtime
