// What a generated file says and does, as text: the other half of `ripeline validate`.
//
// A probe is a small program that includes one generated header and answers a script:
//   its facts, line by line
//   guard LANE FORMULA            what a task of the lane finds when h0, h1, … is held of each pool
//   acquire LANE POOL FORMULA     what is held after its start, where that differs
//   release LANE POOL FORMULA     and after its end
// then, for each `?` in the script, what the arbiter offers and chooses there (and, if some link
// is a rendezvous, what is next in its order). Formulas come from
// the header's own templates, which are the same text that the arbiter runs on integers. A script:
//   rank 1                        another arbiter, of this rank
//   begin 2                       a step with this many microbatches
//   arrive EDGE MICROBATCH        start LANE MICROBATCH        end LANE MICROBATCH
//   taken EDGE MICROBATCH         of a rendezvous message that this rank sends
//   ?
// and for hints with patience, in nanoseconds:
//   costs TASK LINK NOTICE        what each task, link and notice takes; before `begin`
//   now TIME                      of what follows
//   notice EDGE MICROBATCH IN     an expected message         took EDGE COUNT
// Pure functions; values.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/arbiter.h"

namespace ripeline::core {

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

// What a generated header offers. The functions are null where no resource is bounded.
struct Probe {
  const ProgramFacts& facts;
  std::unique_ptr<Arbiter> (*make_arbiter)(int rank);
  Formula (*has_room)(LaneId lane, const Formula* held) = nullptr;
  void (*acquire)(LaneId lane, Formula* held) = nullptr;
  void (*release)(LaneId lane, Formula* held) = nullptr;
};

// Facts, formulas, and the answers to the script.
[[nodiscard]] std::string answers(const Probe& probe, std::string_view script);

// The facts but for what a proof added (proved, bounds): one line each, nothing left out.
[[nodiscard]] std::string facts_text(const ProgramFacts& facts);
// The answers alone. A script that is not understood ends with a line that says so.
[[nodiscard]] std::string play(const std::function<std::unique_ptr<Arbiter>(int)>& make_arbiter,
                               std::string_view script);
// What a step's state looks like from outside: per engine the ready tasks, then the same in order
// of choice, each chosen among what the ones before it left; with rendezvous also the next task in
// order.
[[nodiscard]] std::string look(const Arbiter& arbiter, int microbatches, Time now = Time{0});

}  // namespace ripeline::core
