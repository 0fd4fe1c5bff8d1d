#include "validate/validator.h"

#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/vocabulary/plural.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "validate/equivalence.h"
#include "validate/probe/probe.h"

namespace ripeline::simulate {
namespace {

// What a probe said, taken apart.
struct Answers {
  std::string facts;
  std::vector<verify::EmittedLane> lanes;
  std::string walk;
};

// `guard LANE FORMULA`, `acquire LANE POOL FORMULA` or `release LANE POOL FORMULA`; false: it is
// none of these, or its lane is beyond the program's.
bool read_formula(const std::string& line, std::vector<verify::EmittedLane>& lanes) {
  std::istringstream in(line);
  std::string what;
  std::size_t lane = 0;
  int pool = 0;
  if (!(in >> what >> lane) || lane >= lanes.size()) return false;
  verify::EmittedLane& emitted = lanes[lane];
  if (what == "guard") {
    std::string guard;
    if (!std::getline(in >> std::ws, guard)) return false;
    emitted.guard = std::move(guard);
    return true;
  }
  if (what != "acquire" && what != "release") return false;
  verify::EmittedChange change;
  if (!(in >> pool) || !std::getline(in >> std::ws, change.after)) return false;
  change.pool = pool;
  (what == "acquire" ? emitted.acquired : emitted.released).push_back(std::move(change));
  return true;
}

Answers take_apart(const std::string& text, std::size_t lanes) {
  Answers answers;
  answers.lanes.resize(lanes);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("?") || line == "refused" || line.starts_with("not understood")) {
      answers.walk += line + "\n";
    } else if (!read_formula(line, answers.lanes)) {
      answers.facts += line + "\n";
    }
  }
  return answers;
}

std::optional<std::string> facts_difference(const std::string& specified,
                                            const std::string& emitted) {
  std::istringstream left(specified);
  std::istringstream right(emitted);
  for (int row = 1;; ++row) {
    std::string a;
    std::string b;
    const bool more = static_cast<bool>(std::getline(left, a));
    const bool too = static_cast<bool>(std::getline(right, b));
    if (!more && !too) return std::nullopt;
    if (more && too && a == b) continue;
    return fmt::format("facts, row {}: specified '{}', emitted '{}'", row, a, b);
  }
}

}  // namespace

Validator::Validator(const spec::Program& program, const WalkLimits& limits)
    : program_(program), walk_(walk_of(program, limits)) {}

Validation Validator::judge(const std::string& text) const {
  Validation result;
  result.sizes = walk_.sizes;
  const Answers answers = take_apart(text, program_.lanes.size());
  const core::OwnedFacts storage = lower::facts_of(program_);
  const auto facts = facts_difference(core::facts_text(storage.facts()), answers.facts);
  if (facts) result.differences.push_back(*facts);
  const verify::Equivalence formulas = verify::compare_emitted(program_, answers.lanes);
  result.formulas = formulas.proved;
  result.solver = formulas.solver;
  for (const std::string& difference : formulas.differences) {
    result.differences.push_back(difference);
  }
  const auto walk = first_difference(program_, walk_.script, walk_.expected, answers.walk);
  if (walk) result.differences.push_back(*walk);
  return result;
}

std::string summary(const Validation& validation) {
  std::vector<std::string> sizes;
  for (const Walk::Size& size : validation.sizes) {
    sizes.push_back(fmt::format(
        "{} with {}", plural(size.states, "state") + (size.complete ? "" : " (not all)"),
        size.microbatches == 1 ? std::string("1 microbatch")
                               : fmt::format("{} microbatches", size.microbatches)));
  }
  return fmt::format(
      "{} proved equal for all values ({}); the same choices in every state walked: {}",
      plural(validation.formulas, "formula"), validation.solver, fmt::join(sizes, ", "));
}

}  // namespace ripeline::simulate
