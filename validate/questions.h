// questions: the questions to a generated header's functions, and the program's answers.
//
// For the smallest microbatch counts in range, the questions ask for every rank's order and for the
// value of every task that a priority lists. They ask with all amounts that the task's pools may
// hold or, if these are too many, with the ends and the middle. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "core/facts.h"
#include "spec/program.h"

namespace ripeline::validate {

struct QuestionLimits {
  int counts = 4;                   // the number of counts, from the smallest in range
  std::int64_t values = 100'000;    // the number of values in all; more are left out
  std::int64_t places = 1'000'000;  // likewise
};

struct Questions {
  std::string text;      // in the form of validate/probe/probe.h
  std::string expected;  // the answers
  int first = 0;         // the counts in the questions, first .. last
  int last = 0;
  std::int64_t places = 0;  // in all orders
  std::int64_t values = 0;  // asked of priorities
  bool complete = true;     // false if a limit left some out
};

// `facts` are the facts of the program.
[[nodiscard]] Questions questions_of(const spec::Program& program, const core::ProgramFacts& facts,
                                     const QuestionLimits& limits = {});

}  // namespace ripeline::validate
