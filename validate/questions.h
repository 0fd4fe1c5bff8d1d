// questions: the questions to a generated header's functions, and the program's answers.
//
// The questions concern the smallest microbatch counts in range. They ask for every rank's order
// and for the value of every task that a priority lists, with all amounts that the task's pools may
// hold. If these are too many, only the smallest, middle and largest amounts are asked. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "core/facts.h"
#include "spec/program.h"

namespace ripeline::validate {

struct QuestionLimits {
  int counts = 4;                   // the number of counts, from the smallest in range
  std::int64_t values = 100'000;    // the number of values in all; more are left out
  std::int64_t places = 1'000'000;  // the number of entries of orders; more are left out
};

struct Questions {
  std::string text;      // in the form of validate/probe/probe.h
  std::string expected;  // the answers
  int first = 0;         // the counts in the questions, first .. last
  int last = 0;
  std::int64_t places = 0;  // in all orders
  std::int64_t values = 0;  // asked of priorities
  bool complete = true;     // false if a limit left questions out
};

// `facts` are the facts of the program.
[[nodiscard]] Questions questions_of(const spec::Program& program, const core::ProgramFacts& facts,
                                     const QuestionLimits& limits = {});

}  // namespace ripeline::validate
