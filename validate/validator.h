// validate: whether a generated header is its program's.
//
// The header's probe (validate/probe/probe.h) answers questions; these are compared:
//   facts     every table, but for what a proof added
//   formulas  what each lane finds, takes and gives back: proved equal for all values
//   orders    and values of priorities: equal for small counts of microbatches
// Nothing here trusts the generator. The arbiter itself is core's, which tests compare with the
// interpreter in every state of small programs. Whether the program is safe is not asked. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "core/owned_facts.h"
#include "spec/program.h"
#include "validate/questions.h"

namespace ripeline::validate {

struct Validation {
  std::vector<std::string> differences;  // empty: it is
  int formulas = 0;                      // proved equal
  Questions questions;                   // those that were asked
  std::string solver;
};

class Validator {
 public:
  // The program must outlive it.
  explicit Validator(const spec::Program& program, const QuestionLimits& limits = {});
  [[nodiscard]] const std::string& questions() const { return questions_.text; }
  // Judges the probe's answers.
  [[nodiscard]] Validation judge(const std::string& answers) const;

 private:
  const spec::Program& program_;
  core::OwnedFacts facts_;
  Questions questions_;
};

// One sentence: what was compared, and how far.
[[nodiscard]] std::string summary(const Validation& validation);

}  // namespace ripeline::validate
