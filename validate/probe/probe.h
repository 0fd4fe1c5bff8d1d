// Writes the content of a generated file as text; this is the other half of `ripeline validate`.
//
// A probe is a small program that includes one generated header and answers questions:
//   its facts, line by line
//   rule 0F may start where activation of stage 0 <= 3    when its tasks have room
//   rule 0F starts: activation of stage 0 becomes activation of stage 0 + 1    per changed pool
//   rule 0B ends: activation of stage 0 becomes activation of stage 0 - 1
// then each question, which is a line, with its answer after ` = `:
//   order RANK MICROBATCHES       the tasks of the rank's order, as LANE/TASK, or `refused`
//   value LANE TASK MICROBATCHES POOL:HELD …    the value of a task, when pools hold these amounts
//   value LANE TASK MICROBATCHES each           the same, with the amounts of each_differently()
// The rules are computed on formulas by the header's own templates, which the arbiter runs on
// integers. Pure functions; values.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "core/rule_arbiter.h"

namespace ripeline::validate {

// A number or a truth value as a formula over named amounts, in a normal form: formulas with equal
// texts are equal for all values. Texts are like `a + 1`, `a <= 3 and b <= 1`, `true`. A formula
// has no meaning if it adds truth values or joins numbers, if one of its numbers does not fit into
// 64 bits, or if it is made from such a formula; only then its text is `without meaning`.
class Formula {
 public:
  Formula() = default;
  template <std::integral Number>
  Formula(Number value)  // NOLINT(google-explicit-constructor): guards mix both
      : is_truth_(std::same_as<Number, bool>) {
    if (!is_truth_) constant_ = static_cast<std::int64_t>(value);
    if (is_truth_ && !value) all_ = {"false"};
  }
  [[nodiscard]] static Formula named(const std::string& name) {
    Formula formula;
    formula.terms_[name] = 1;
    return formula;
  }
  [[nodiscard]] std::string text() const;

  friend Formula operator+(const Formula& a, const Formula& b) { return a.plus(b, 1); }
  friend Formula operator-(const Formula& a, const Formula& b) { return a.plus(b, -1); }
  friend Formula operator<=(const Formula& a, const Formula& b);
  friend Formula operator&&(const Formula& a, const Formula& b);
  friend Formula operator||(const Formula& a, const Formula& b);
  Formula& operator+=(const Formula& b) { return *this = *this + b; }
  Formula& operator-=(const Formula& b) { return *this = *this - b; }

 private:
  [[nodiscard]] static Formula truth(const std::string& text);
  [[nodiscard]] static Formula without_meaning();
  [[nodiscard]] Formula plus(const Formula& b, std::int64_t factor) const;

  bool is_without_meaning_ = false;  // if true, the other members are not used
  bool is_truth_ = false;
  std::map<std::string, std::int64_t> terms_;  // for a number: the factor of each amount, not 0
  std::int64_t constant_ = 0;
  std::set<std::string> all_;  // for a truth value: comparisons that all hold; {"false"} if false
};

// The functions and tables that a generated header offers.
struct Probe {
  const core::ProgramFacts& facts;
  bool makes_arbiters = false;  // make_arbiter() makes RuleArbiter<Rules> of every rank
  bool one_engine = false;      // Rules::kOneEngine
  Formula (*has_room)(core::LaneId lane, const Formula* held) = nullptr;
  void (*acquire)(core::LaneId lane, Formula* held) = nullptr;
  void (*release)(core::LaneId lane, Formula* held) = nullptr;
  core::Status (*write_order)(int rank, int microbatches, core::OrderWriter& order) = nullptr;
  std::int64_t (*value)(core::Task task, const std::int64_t* held, int microbatches) = nullptr;
};
template <class Rules>
[[nodiscard]] Probe probe_of(std::unique_ptr<core::Arbiter> (*make_arbiter)(int rank)) {
  bool makes = true;
  for (int rank = 0; rank < Rules::facts().ranks; ++rank) {
    const std::unique_ptr<core::Arbiter> made = make_arbiter(rank);
    const core::Arbiter& arbiter = *made;
    makes = makes && typeid(arbiter) == typeid(core::RuleArbiter<Rules>) &&
            arbiter.rank() == rank && &arbiter.facts() == &Rules::facts();
  }
  return {.facts = Rules::facts(),
          .makes_arbiters = makes,
          .one_engine = Rules::kOneEngine,
          .has_room = Rules::template has_room<Formula>,
          .acquire = Rules::template acquire<Formula>,
          .release = Rules::template release<Formula>,
          .write_order = Rules::write_order,
          .value = [](core::Task task, const std::int64_t* held, int microbatches) {
            return Rules::priority(task, held, microbatches);
          }};
}

// The facts, the rules, and the answers to the questions. The answer to a question that is not
// understood says so.
[[nodiscard]] std::string answers(const Probe& probe, std::string_view questions);

// All facts except what a proof added (proved, bounds), one per line.
[[nodiscard]] std::string facts_text(const core::ProgramFacts& facts);
// By pool, a formula for the amount that is held, with the name of the pool.
[[nodiscard]] std::vector<Formula> held_of(const core::ProgramFacts& facts);
// The rules of a lane: when its task may start, and the amounts held after its start and its end.
[[nodiscard]] std::string rules_text(const core::ProgramFacts& facts, core::LaneId lane,
                                     const Formula& has_room, const std::vector<Formula>& started,
                                     const std::vector<Formula>& ended);
// The pools with a capacity from which some task acquires, in order; an arbiter counts these.
[[nodiscard]] std::vector<int> counted_pools(const core::ProgramFacts& facts);
// Amounts by pool: a pool in counted_pools() holds its number plus one; any other holds nothing.
[[nodiscard]] std::vector<std::int64_t> each_differently(const core::ProgramFacts& facts);
// The answer to an `order` question.
[[nodiscard]] std::string order_text(const core::Status& status, const core::OrderWriter& order);

}  // namespace ripeline::validate
