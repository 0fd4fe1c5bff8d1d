// Small programs of bounded links, one for each rule, and what becomes of them; and all programs of
// the tests that stick. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "verify/verify.h"

namespace ripeline::testing_support {

struct LinkCase {
  std::string name;
  std::string text;
  verify::Outcome deadlock = verify::Outcome::unknown;
  int fewest = 0;           // microbatches, of refuted
  std::string reason = "";  // part of it
};
[[nodiscard]] std::vector<LinkCase> link_cases();

// Each is refuted, or unknown for a run that other choices than the dispatch's make. With what
// link_cases() refutes.
struct Sticking {
  std::string name;
  std::string text;
  bool by_other_choices = false;
};
[[nodiscard]] std::vector<Sticking> sticking_programs();

}  // namespace ripeline::testing_support
