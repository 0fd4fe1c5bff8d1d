// questions: what a generated header's functions are asked, and what the program answers.
//
// Of the fewest counts of microbatches in its range: every rank's order, and the value of every
// task that a priority lists, with all that its pools may hold where that is not too much, else
// with the ends and the middle. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "core/facts.h"
#include "spec/program.h"

namespace ripeline::validate {

struct QuestionLimits {
  int counts = 4;                   // this many of the fewest counts in range
  std::int64_t values = 100'000;    // in all; what does not fit is left out
  std::int64_t places = 1'000'000;  // likewise
};

struct Questions {
  std::string text;      // as validate/probe/probe.h reads it
  std::string expected;  // the answers
  int first = 0;         // the counts that are asked about, first .. last
  int last = 0;
  std::int64_t places = 0;  // in all orders
  std::int64_t values = 0;  // asked of priorities
  bool complete = true;     // false: a limit left some out
};

// `facts` are the program's.
[[nodiscard]] Questions questions_of(const spec::Program& program, const core::ProgramFacts& facts,
                                     const QuestionLimits& limits = {});

}  // namespace ripeline::validate
