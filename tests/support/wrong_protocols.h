// Protocols that look right and are wrong, each with the smallest group that shows the mistake.
//
// They are what readiness-first systems do, could do or have done. verify/group/protocol.h
// describes protocols; a run in tests/verify/protocol_test.cpp refutes each. Pure functions.
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
  // The fewest events that show the mistake, with tasks 0 and 1; `1:start0` is a start by member 1.
  std::string run;
};

[[nodiscard]] std::vector<WrongProtocol> wrong_protocols();

}  // namespace ripeline::testing_support
