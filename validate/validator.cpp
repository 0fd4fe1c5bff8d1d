#include "validate/validator.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/vocabulary/plural.h"
#include "lower/facts.h"
#include "validate/equivalence.h"
#include "validate/probe/probe.h"

namespace ripeline::validate {
namespace {

// A probe's output, taken apart.
struct Answers {
  std::string facts;
  std::vector<EmittedLane> lanes;
  std::string functions;
};

// `guard LANE FORMULA`, `acquire LANE POOL FORMULA` or `release LANE POOL FORMULA`; false: it is
// none of these, or its lane is beyond the program's.
bool read_formula(const std::string& line, std::vector<EmittedLane>& lanes) {
  std::istringstream in(line);
  std::string what;
  std::size_t lane = 0;
  int pool = 0;
  if (!(in >> what >> lane) || lane >= lanes.size()) return false;
  EmittedLane& emitted = lanes[lane];
  if (what == "guard") {
    std::string guard;
    if (!std::getline(in >> std::ws, guard)) return false;
    emitted.guard = std::move(guard);
    return true;
  }
  if (what != "acquire" && what != "release") return false;
  EmittedChange change;
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
    if (line.starts_with("order ") || line.starts_with("value ") ||
        line.starts_with("not understood")) {
      answers.functions += line + "\n";
    } else if (!read_formula(line, answers.lanes)) {
      answers.facts += line + "\n";
    }
  }
  return answers;
}

// A line of reasonable length, or what it has where it differs from another.
std::string shown(const std::string& line, const std::string& other) {
  constexpr std::size_t kMost = 120;
  if (line.size() <= kMost && other.size() <= kMost) return line;
  const std::size_t same = static_cast<std::size_t>(
      std::mismatch(line.begin(), line.end(), other.begin(), other.end()).first - line.begin());
  const std::size_t begin = same < kMost / 2 ? 0 : same - kMost / 2;
  return (begin > 0 ? "…" : "") + line.substr(begin, kMost) +
         (begin + kMost < line.size() ? "…" : "");
}

// The first line that differs.
std::optional<std::string> difference(const char* what, const std::string& specified,
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
    return fmt::format("{}, row {}: specified '{}', emitted '{}'", what, row, shown(a, b),
                       shown(b, a));
  }
}

}  // namespace

Validator::Validator(const spec::Program& program, const QuestionLimits& limits)
    : program_(program),
      facts_(lower::facts_of(program)),
      questions_(questions_of(program, facts_.facts(), limits)) {}

Validation Validator::judge(const std::string& text) const {
  Validation result;
  result.questions = questions_;
  const Answers answers = take_apart(text, program_.lanes.size());
  const auto facts = difference("facts", facts_text(facts_.facts()), answers.facts);
  if (facts) result.differences.push_back(*facts);
  const Equivalence formulas = compare_emitted(program_, answers.lanes);
  result.formulas = formulas.proved;
  result.solver = formulas.solver;
  for (const std::string& difference : formulas.differences) {
    result.differences.push_back(difference);
  }
  const auto functions = difference("functions", questions_.expected, answers.functions);
  if (functions) result.differences.push_back(*functions);
  return result;
}

std::string summary(const Validation& validation) {
  const Questions& asked = validation.questions;
  std::string text = fmt::format("tables equal; {} proved equal for all values ({})",
                                 plural(validation.formulas, "formula"), validation.solver);
  const std::string counts = asked.first == asked.last
                                 ? plural(asked.first, "microbatch")
                                 : fmt::format("{} .. {} microbatches", asked.first, asked.last);
  if (asked.places > 0) {
    text += fmt::format("; the order the same with {}: {}{}", counts, plural(asked.places, "place"),
                        asked.complete ? "" : " (not all)");
  }
  if (asked.values > 0) {
    text += fmt::format("; priorities the same with {}: {}{}", counts,
                        plural(asked.values, "value"), asked.complete ? "" : " (not all)");
  }
  return text;
}

}  // namespace ripeline::validate
