// validate: checks whether a generated header matches its program.
//
// The header's probe (validate/probe/probe.h) answers questions. The program must agree on:
//   facts     every table, except what a proof added
//   rules     what each lane needs, acquires and releases, as formulas, equal for all values
//   orders    and values of priorities, for small counts of microbatches
// The generator is not trusted. The arbiter itself is in core/, and tests compare it with the
// interpreter in every state of small programs. Whether the program is safe is not checked. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "core/owned_facts.h"
#include "spec/program.h"
#include "validate/questions.h"

namespace ripeline::validate {

struct Validation {
  std::vector<std::string> differences;  // empty if the header matches
  int formulas = 0;                      // the number of formulas in the program's rules
  Questions questions;                   // those that were asked
};

class Validator {
 public:
  // The program must outlive the validator.
  explicit Validator(const spec::Program& program, const QuestionLimits& limits = {});
  [[nodiscard]] const std::string& questions() const { return questions_.text; }
  // Judges the probe's answers.
  [[nodiscard]] Validation judge(const std::string& answers) const;

 private:
  const spec::Program& program_;
  core::OwnedFacts facts_;
  Questions questions_;
};

// A sentence about what was compared, and to what extent.
[[nodiscard]] std::string summary(const Validation& validation);
// The summary, or the first differences. `name` is the program's source. Ends with a newline.
[[nodiscard]] std::string report_text(const std::string& name, const Validation& validation);

}  // namespace ripeline::validate
