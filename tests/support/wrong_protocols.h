// Protocols that look right and are not, each with the smallest group in which it shows.
//
// From what readiness-first systems do, could do and have done; verify/group/protocol.h describes
// them, tests/verify/protocol_test.cpp refutes each with a run. Pure functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify/group/protocol.h"

namespace ripeline::testing_support {

struct WrongProtocol {
  verify::Protocol protocol;
  verify::Trial::Result shows = verify::Trial::Result::parts;
  int members = 2;
  // The fewest events that show it with tasks 0 and 1; `1:start0` is member 1's.
  std::string run;
};

[[nodiscard]] std::vector<WrongProtocol> wrong_protocols();

}  // namespace ripeline::testing_support
