// Small programs with bounded links, one for each rule, each with the expected verdict; and all of
// the tests' programs that can deadlock. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "verify/verify.h"

namespace ripeline::testing_support {

struct LinkCase {
  std::string name;
  std::string text;
  verify::Outcome deadlock = verify::Outcome::unknown;
  int fewest = 0;           // the microbatches of the smallest deadlock, if the program is refuted
  std::string reason = "";  // part of the verdict's reason
};
[[nodiscard]] std::vector<LinkCase> link_cases();

// A program that is refuted, or is unknown because it deadlocks only by choices that its dispatch
// does not make. The programs that link_cases() expects to be refuted are among these.
struct Sticking {
  std::string name;
  std::string text;
  bool by_other_choices = false;
};
[[nodiscard]] std::vector<Sticking> sticking_programs();

}  // namespace ripeline::testing_support
