// validate: whether a generated header is its program's.
//
// The header's probe (validate/probe/probe.h) answers a script; three things are compared:
//   facts     every table, but for what a proof added
//   formulas  what each lane finds, takes and gives back: proved equal for all values
//   walk      what the arbiter offers and chooses: the same as the interpreter's in every state of
//             each rank at small sizes
// Nothing here trusts the generator. Whether the program is safe is not asked. One thread.
#pragma once

#include <string>
#include <vector>

#include "spec/program.h"
#include "validate/walk.h"

namespace ripeline::simulate {

struct Validation {
  std::vector<std::string> differences;  // empty: it is
  int formulas = 0;                      // proved equal
  std::vector<Walk::Size> sizes;         // walked
  std::string solver;
};

class Validator {
 public:
  // The program must outlive it.
  explicit Validator(const spec::Program& program, const WalkLimits& limits = {});
  [[nodiscard]] const std::string& script() const { return walk_.script; }
  // Of what the probe answered to the script.
  [[nodiscard]] Validation judge(const std::string& answers) const;

 private:
  const spec::Program& program_;
  Walk walk_;
};

// One sentence: what was compared, and how far.
[[nodiscard]] std::string summary(const Validation& validation);

}  // namespace ripeline::simulate
