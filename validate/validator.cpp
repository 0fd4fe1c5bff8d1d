#include "validate/validator.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "core/vocabulary/plural.h"
#include "lower/facts.h"
#include "spec/guards.h"
#include "validate/probe/probe.h"

namespace ripeline::validate {
namespace {

// The parts of a probe's output.
struct Answers {
  std::string facts;
  std::string rules;
  std::string functions;
};

Answers take_apart(const std::string& text) {
  Answers answers;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const bool is_function = line.starts_with("order ") || line.starts_with("value ") ||
                             line.starts_with("not understood");
    const bool is_rule = line.starts_with("rule ");
    (is_function ? answers.functions : is_rule ? answers.rules : answers.facts) += line + "\n";
  }
  return answers;
}

// The rules of all lanes: when a task has room, and how it changes pools with a capacity.
std::string specified_rules(const spec::Program& program, const core::ProgramFacts& facts) {
  std::string text;
  const std::vector<Formula> held = held_of(facts);
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    Formula has_room = true;
    for (const spec::RoomGuard& guard : guards_of(program, lane).rooms) {
      has_room = has_room && at(held, guard.pool) <= guard.room.most_held();
    }
    std::vector<Formula> started = held;
    for (const spec::Acquire& a : at(program.lanes, lane).acquires) {
      if (at(program.pools, a.pool).capacity) at(started, a.pool) += a.amount;
    }
    std::vector<Formula> ended = held;
    for (const spec::Release& r : at(program.lanes, lane).releases) {
      if (at(program.pools, r.pool).capacity) at(ended, r.pool) -= r.amount;
    }
    text += rules_text(facts, lane, has_room, started, ended);
  }
  return text;
}

// The line or, if it is too long, the part of it around its first difference from `other`.
std::string shown(const std::string& line, const std::string& other) {
  constexpr std::size_t kMost = 120;
  if (line.size() <= kMost && other.size() <= kMost) return line;
  const std::size_t same = static_cast<std::size_t>(
      std::mismatch(line.begin(), line.end(), other.begin(), other.end()).first - line.begin());
  const std::size_t begin = same < kMost / 2 ? 0 : same - kMost / 2;
  return (begin > 0 ? "…" : "") + line.substr(begin, kMost) +
         (begin + kMost < line.size() ? "…" : "");
}

// The first line in which the texts differ; nullopt if they are equal.
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
  const Answers answers = take_apart(text);
  const std::string rules = specified_rules(program_, facts_.facts());
  result.formulas = static_cast<int>(std::count(rules.begin(), rules.end(), '\n'));
  for (const auto& found : {difference("facts", facts_text(facts_.facts()), answers.facts),
                            difference("rules", rules, answers.rules),
                            difference("functions", questions_.expected, answers.functions)}) {
    if (found) result.differences.push_back(*found);
  }
  return result;
}

std::string summary(const Validation& validation) {
  const Questions& asked = validation.questions;
  std::string text = fmt::format("tables equal; {} proved equal for all values",
                                 plural(validation.formulas, "formula"));
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

std::string report_text(const std::string& name, const Validation& validation) {
  const std::vector<std::string>& differences = validation.differences;
  if (differences.empty()) return fmt::format("{}: valid: {}\n", name, summary(validation));
  std::string text =
      fmt::format("{}: what was generated is not this program: {} found\n", name,
                  plural(static_cast<std::int64_t>(differences.size()), "difference"));
  constexpr std::size_t kMostShown = 8;
  for (std::size_t i = 0; i < differences.size() && i < kMostShown; ++i) {
    text += "  " + differences[i] + "\n";
  }
  return text;
}

}  // namespace ripeline::validate
