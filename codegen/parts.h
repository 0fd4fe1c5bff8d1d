// The parts of a generated header. Each part is written by the source file named here; generate.cpp
// puts them in sequence.
//
// Private to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"
#include "core/facts.h"

namespace ripeline::codegen {

// tables.cpp: the facts, and the tables that they view.
[[nodiscard]] std::string tables(const Outline& outline, const core::ProgramFacts& facts);

// dispatch_text.cpp: kPlaces and kFill, after a comment with the hint as the language writes it.
[[nodiscard]] std::string place_tables(const spec::Program& program,
                                       const core::DispatchFacts& dispatch);
// The dispatch's part of the facts; empty if it has only default values.
[[nodiscard]] std::string dispatch_facts(const core::DispatchFacts& dispatch);

// The text of a rule. All members are empty if the program has no such rule.
struct RuleText {
  std::string functions = {};  // functions and tables before Rules, each after an empty line
  std::string members = {};    // the members of Rules that call `functions`
  bool has_fractions = false;  // computes with core::Fraction
};
// admission.cpp: function templates for the room that a task needs and for what the task acquires
// and releases. The arbiter runs these templates on integers, and `ripeline validate` runs them on
// formulas.
[[nodiscard]] RuleText admission_rule(const Outline& outline);
// order_text.cpp: the order that the dispatch commits to, follows or keeps room for. Its
// expressions, streams and repeats become a function; an order from a file becomes a table.
[[nodiscard]] RuleText order_rule(const spec::Program& program);
// priority_text.cpp: the value of a task, if the hint is a priority.
[[nodiscard]] RuleText priority_rule(const Outline& outline);

}  // namespace ripeline::codegen
