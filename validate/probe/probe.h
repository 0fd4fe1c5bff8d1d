// The content of a generated file, as text: the other half of `ripeline validate`.
//
// A probe is a small program that includes one generated header and answers questions:
//   its facts, line by line
//   guard LANE FORMULA            what a task of the lane finds when h0, h1, … is held of each pool
//   acquire LANE POOL FORMULA     what is held after its start, where that differs
//   release LANE POOL FORMULA     and after its end
// then each line of the questions, with its answer behind ` = `:
//   order RANK MICROBATCHES       the tasks of the rank's order, as LANE/TASK, or `refused`
//   value LANE TASK MICROBATCHES POOL:HELD …    the value of a task, when so much of pools is held
//   value LANE TASK MICROBATCHES each           the same, as each_differently() has them
// Formulas come from the header's own templates, which are the same text that its arbiter runs on
// integers. Pure functions; values.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "core/rule_arbiter.h"

namespace ripeline::validate {

// A number or a truth value that is known only as text, in prefix form: (<= (+ h0 1) 4).
class Formula {
 public:
  Formula() = default;
  template <std::integral Number>
  Formula(Number value) {  // NOLINT(google-explicit-constructor): guards mix both
    if constexpr (std::same_as<Number, bool>) {
      text_ = value ? "true" : "false";
    } else {
      text_ = std::to_string(value);
    }
  }
  [[nodiscard]] static Formula named(std::string name) {
    Formula formula;
    formula.text_ = std::move(name);
    return formula;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

  friend Formula operator+(const Formula& a, const Formula& b) { return joined("+", a, b); }
  friend Formula operator-(const Formula& a, const Formula& b) { return joined("-", a, b); }
  friend Formula operator<=(const Formula& a, const Formula& b) { return joined("<=", a, b); }
  friend Formula operator&&(const Formula& a, const Formula& b) { return joined("and", a, b); }
  friend Formula operator||(const Formula& a, const Formula& b) { return joined("or", a, b); }
  Formula& operator+=(const Formula& b) { return *this = *this + b; }
  Formula& operator-=(const Formula& b) { return *this = *this - b; }

 private:
  [[nodiscard]] static Formula joined(const char* op, const Formula& a, const Formula& b) {
    return named(std::string("(") + op + " " + a.text_ + " " + b.text_ + ")");
  }
  std::string text_;
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

// Facts, formulas, and the answers. A question that is not understood ends with a line that says
// so.
[[nodiscard]] std::string answers(const Probe& probe, std::string_view questions);

// The facts but for what a proof added (proved, bounds): one line each, nothing left out.
[[nodiscard]] std::string facts_text(const core::ProgramFacts& facts);
// The pools with a capacity from which some task acquires, in order: those that an arbiter counts.
[[nodiscard]] std::vector<int> counted_pools(const core::ProgramFacts& facts);
// By pool: each of these holds one more than its number, the others nothing.
[[nodiscard]] std::vector<std::int64_t> each_differently(const core::ProgramFacts& facts);
// The answer to `order`.
[[nodiscard]] std::string order_text(const core::Status& status, const core::OrderWriter& order);

}  // namespace ripeline::validate
