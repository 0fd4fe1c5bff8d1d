// Solver: linear integer arithmetic with functions of integers, answered by Z3 behind plain
// types.
//
// A Term is a handle that belongs to one Solver and must not outlive it. check() decides the
// required terms together with its extra terms, within a number of solver steps; the extra terms
// are then forgotten. `unknown` is an answer like the others and proves nothing. A solver that
// writes does not solve; its terms become SMT-LIB text, without Z3. Throws spec::Stopped if the
// work is stopped (spec/long_work.h), which interrupts Z3. One thread; solvers share nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ripeline::verify {

class Solver;

// An integer or a truth value. Operators need both sides from the same solver.
class Term {
 public:
  Term() = default;

 private:
  friend class Solver;
  friend struct TermMaker;
  Term(Solver* solver, std::uint32_t id) : solver_(solver), id_(id) {}
  Solver* solver_ = nullptr;
  std::uint32_t id_ = 0;
};

enum class Answer : std::uint8_t { sat, unsat, unknown };

// How a solver is used: to solve, to write, or to write while `ask` gives the answers.
struct SolverUse {
  // For solving: `steps` is Z3's rlimit for each check (0: none); a check that gives up halves it.
  SolverUse(std::uint64_t limit) : steps(limit) {}
  [[nodiscard]] static SolverUse writing() {
    SolverUse use(0);
    use.writes = true;
    return use;
  }
  // For writing, with the answer of each check given by a function.
  using Ask = std::function<Answer(const std::string& query, const Solver&,
                                   const std::vector<Term>& extra)>;
  [[nodiscard]] static SolverUse asking(Ask ask) {
    SolverUse use = writing();
    use.ask = std::move(ask);
    return use;
  }
  std::uint64_t steps;
  bool writes = false;  // if true, terms become text, and only `ask` gives answers
  Ask ask = {};         // if empty, check() of a solver that writes answers unknown
};

// Z3's answer to a whole SMT-LIB file.
[[nodiscard]] Answer solve(const std::string& smtlib, std::uint64_t steps);

class Solver {
 public:
  explicit Solver(SolverUse use);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  [[nodiscard]] Term integer(const std::string& name);
  [[nodiscard]] Term number(std::int64_t value);
  // The value at `argument` of an integer function about which nothing else is known.
  [[nodiscard]] Term apply(const std::string& function, Term argument);
  [[nodiscard]] Term sum(const std::vector<Term>& terms);     // 0 if there are none
  [[nodiscard]] Term all_of(const std::vector<Term>& terms);  // true if there are none
  [[nodiscard]] Term any_of(const std::vector<Term>& terms);  // false if there are none
  // The value of a function of integers about which nothing else is known. A function is identified
  // by its name and its number of arguments.
  [[nodiscard]] Term apply(const std::string& function, const std::vector<Term>& arguments);

  void require(Term truth);
  // `query` names the question in logs. If `steps` is above 0, it replaces the solver's limit for
  // this check, and no second strategy is tried.
  [[nodiscard]] Answer check(const std::string& query, const std::vector<Term>& extra = {},
                             std::uint64_t steps = 0);
  // Does the same as check() without what the solver has learnt from earlier questions, which can
  // make a large question many times slower. Later questions learn nothing from this one.
  [[nodiscard]] Answer check_afresh(const std::string& query, const std::vector<Term>& extra,
                                    std::uint64_t steps = 0);
  // The term's value in the model of the last check that answered sat.
  [[nodiscard]] std::int64_t value(Term integer) const;
  [[nodiscard]] bool truth(Term truth) const;

  struct Query {
    std::string name;
    Answer answer;
  };
  // All checks so far, in order.
  [[nodiscard]] const std::vector<Query>& queries() const { return queries_; }

  // For a solver that writes: the number of required terms, and a whole SMT-LIB file that asserts
  // the first `required` of them and the extra terms.
  [[nodiscard]] std::size_t required() const;
  [[nodiscard]] std::string script(const std::string& title, const std::vector<Term>& extra,
                                   std::size_t required) const;

  [[nodiscard]] static std::string version();  // Z3 4.16.0

 private:
  struct State;
  friend Answer solve(const std::string& smtlib, std::uint64_t steps);
  friend struct TermMaker;

  [[nodiscard]] Answer asked(const std::string& query, const std::vector<Term>& extra,
                             std::uint64_t steps, bool afresh);
  [[nodiscard]] static std::vector<std::uint32_t> ids(const std::vector<Term>& terms);

  std::unique_ptr<State> state_;
  std::vector<Query> queries_;
};

[[nodiscard]] Term operator+(Term a, Term b);
[[nodiscard]] Term operator-(Term a, Term b);
[[nodiscard]] Term operator*(std::int64_t factor, Term a);
[[nodiscard]] Term operator<=(Term a, Term b);
[[nodiscard]] Term operator<(Term a, Term b);
[[nodiscard]] Term operator==(Term a, Term b);
[[nodiscard]] Term operator!(Term a);
[[nodiscard]] Term floor_div(Term a, std::int64_t divisor);  // divisor > 0
[[nodiscard]] Term floor_mod(Term a, std::int64_t divisor);  // divisor > 0
[[nodiscard]] Term if_then_else(Term condition, Term a, Term b);

}  // namespace ripeline::verify
