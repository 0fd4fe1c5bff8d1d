// The solver; no other file includes Z3.
#include "verify/solver/solver.h"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <stop_token>
#include <string_view>

#include <z3++.h>

#include "spec/long_work.h"
#include "verify/solver/smtlib.h"

namespace ripeline::verify {

using Op = Script::Op;

namespace {

// Throws std::bad_alloc if Z3 ran out of memory, since this is not an answer to a question.
void refuse_want_of_memory(const z3::exception& error) {
  if (std::string_view(error.msg()).find("out of memory") != std::string_view::npos) {
    throw std::bad_alloc();
  }
}

}  // namespace

struct Solver::State {
  std::optional<Script>
      script;  // set if the solver writes; then of the members below only `ask` is used
  SolverUse::Ask ask;
  z3::context context;
  std::vector<z3::expr> terms;
  std::vector<z3::expr> required;
  // simple() is the incremental core, without the tactics that a default solver may try first.
  z3::solver solver{context, z3::solver::simple()};
  std::optional<z3::model> model;
  std::uint64_t steps = 0;  // per check; halved whenever a check gives up, so that all end soon
  bool has_functions = false;
  bool broken =
      false;  // an exception left the solver in an unknown state, so it gives no more answers

  std::uint32_t add(const z3::expr& expr) {
    spec::stop_point();
    terms.push_back(expr);
    return static_cast<std::uint32_t>(terms.size() - 1);
  }

  [[nodiscard]] std::vector<z3::expr> exprs(const std::vector<Term>& of) const {
    std::vector<z3::expr> found;
    for (const Term& t : of) found.push_back(terms[t.id_]);
    return found;
  }

  [[nodiscard]] z3::params limits(std::uint64_t limit) {
    z3::params params(context);
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<unsigned>::max());
    params.set("rlimit", static_cast<unsigned>(std::min(limit, most)));
    // By default each check replaces the process's handler of SIGINT, and Ctrl-C ends that check.
    params.set("ctrl_c", false);
    return params;
  }

  void limit(z3::solver& limited, std::uint64_t most) {
    z3::params params = limits(most);
    // The older arithmetic solver is many times faster on these queries than the default one.
    params.set("arith.solver", 2U);
    limited.set(params);
  }

  Answer answer(z3::solver& asked) {
    const z3::check_result found = check(asked);
    spec::stop_point();  // an interrupted check has no answer, and nothing else is asked
    if (found == z3::unsat) return Answer::unsat;
    if (found == z3::unknown) return Answer::unknown;
    model = asked.get_model();
    return Answer::sat;
  }

  z3::check_result check(z3::solver& asked) {
    const std::stop_callback interrupt(spec::stop_of_work(), [this] { context.interrupt(); });
    return asked.check();
  }

  Answer answer_afresh(std::uint64_t most, const std::vector<z3::expr>& extra) {
    z3::solver fresh(context, z3::solver::simple());
    for (const z3::expr& e : required) fresh.add(e);
    for (const z3::expr& e : extra) fresh.add(e);
    limit(fresh, most);
    return answer(fresh);
  }

  // The answer for the extra terms, which get a scope of their own, within at most `most` steps.
  Answer answer_within(std::uint64_t most, const std::vector<z3::expr>& extra) {
    limit(solver, most);
    solver.push();
    for (const z3::expr& e : extra) solver.add(e);
    const Answer found = answer(solver);
    solver.pop();
    limit(solver, steps);
    return found;
  }

  // Tries a second strategy, Z3's own choice of tactics and arithmetic, if the first gives up.
  Answer ask_default(const std::vector<z3::expr>& extra) {
    z3::solver other(context, has_functions ? "QF_UFLIA" : "QF_LIA");
    other.set(limits(steps));
    for (const z3::expr& e : required) other.add(e);
    for (const z3::expr& e : extra) other.add(e);
    return answer(other);
  }
};

// Makes terms from others: nodes of the script if the solver writes, else expressions of Z3.
struct TermMaker {
  template <class Make, class... Terms>
  static Term made(Op op, std::int64_t number, const Make& make, Term first, Terms... others) {
    Solver::State& s = *first.solver_->state_;
    if (s.script) return {first.solver_, s.script->add(op, {first.id_, others.id_...}, number)};
    return {first.solver_, s.add(make(s.terms[first.id_], s.terms[others.id_]...))};
  }
  static Term joined(Solver& solver, Op op, const std::vector<Term>& terms,
                     z3::expr (*join)(const z3::expr_vector&)) {
    Solver::State& s = *solver.state_;
    if (s.script) return {&solver, s.script->add(op, Solver::ids(terms))};
    z3::expr_vector parts(s.context);
    for (const Term& t : terms) parts.push_back(s.terms[t.id_]);
    return {&solver, s.add(join(parts))};
  }
};

Solver::Solver(SolverUse use) : state_(std::make_unique<State>()) {
  if (use.writes) state_->script.emplace();
  state_->ask = std::move(use.ask);
  state_->steps = use.steps;
  state_->limit(state_->solver, use.steps);
}

Solver::~Solver() = default;

Term Solver::integer(const std::string& name) {
  if (state_->script) return {this, state_->script->add(Op::integer, {}, 0, name)};
  return {this, state_->add(state_->context.int_const(name.c_str()))};
}

Term Solver::number(std::int64_t value) {
  if (state_->script) return {this, state_->script->add(Op::number, {}, value)};
  return {this, state_->add(state_->context.int_val(value))};
}

std::vector<std::uint32_t> Solver::ids(const std::vector<Term>& terms) {
  std::vector<std::uint32_t> found;
  for (const Term& t : terms) found.push_back(t.id_);
  return found;
}

Term Solver::apply(const std::string& function, Term argument) {
  return apply(function, std::vector<Term>{argument});
}

Term Solver::sum(const std::vector<Term>& terms) {
  return terms.empty() ? number(0) : TermMaker::joined(*this, Op::sum, terms, z3::sum);
}

Term Solver::all_of(const std::vector<Term>& terms) {
  return TermMaker::joined(*this, Op::all_of, terms, z3::mk_and);
}

Term Solver::any_of(const std::vector<Term>& terms) {
  return TermMaker::joined(*this, Op::any_of, terms, z3::mk_or);
}

Term Solver::apply(const std::string& function, const std::vector<Term>& arguments) {
  State& s = *state_;
  if (s.script) return {this, s.script->add(Op::function, ids(arguments), 0, function)};
  s.has_functions = true;
  z3::sort_vector sorts(s.context);
  z3::expr_vector values(s.context);
  for (const Term& t : arguments) {
    sorts.push_back(s.context.int_sort());
    values.push_back(s.terms[t.id_]);
  }
  const z3::func_decl f = s.context.function(function.c_str(), sorts, s.context.int_sort());
  return {this, s.add(f(values))};
}

void Solver::require(Term truth) {
  if (state_->script) {
    state_->script->require(truth.id_);
    return;
  }
  state_->required.push_back(state_->terms[truth.id_]);
  state_->solver.add(state_->terms[truth.id_]);
}

Answer Solver::check(const std::string& query, const std::vector<Term>& extra,
                     std::uint64_t steps) {
  return asked(query, extra, steps, false);
}

Answer Solver::check_afresh(const std::string& query, const std::vector<Term>& extra,
                            std::uint64_t steps) {
  return asked(query, extra, steps, true);
}

Answer Solver::asked(const std::string& query, const std::vector<Term>& extra, std::uint64_t steps,
                     bool afresh) {
  spec::stop_point();
  Answer found = Answer::unknown;
  if (state_->script && state_->ask) found = state_->ask(query, *this, extra);
  if (!state_->broken && !state_->script) try {
      const std::vector<z3::expr> parts = state_->exprs(extra);
      const std::uint64_t most = steps > 0 ? steps : state_->steps;
      found = afresh ? state_->answer_afresh(most, parts) : state_->answer_within(most, parts);
      if (found == Answer::unknown && steps == 0) found = state_->ask_default(parts);
      if (found == Answer::unknown && steps == 0 && most > 1) state_->steps = most / 2;
    } catch (const z3::exception& error) {
      refuse_want_of_memory(error);
      found = Answer::unknown;
      state_->broken = true;
    }
  spec::stop_point();
  queries_.push_back({query, found});
  return found;
}

Answer solve(const std::string& smtlib, std::uint64_t steps) {
  Solver solver(steps);
  Solver::State& state = *solver.state_;
  try {
    state.has_functions = smtlib.find("(set-logic QF_UFLIA)") != std::string::npos;
    for (const z3::expr& assertion : state.context.parse_string(smtlib.c_str())) {
      state.required.push_back(assertion);
      state.solver.add(assertion);
    }
    const Answer found = state.answer(state.solver);
    return found == Answer::unknown ? state.ask_default({}) : found;
  } catch (const z3::exception& error) {
    refuse_want_of_memory(error);
    spec::stop_point();
    return Answer::unknown;
  }
}

std::int64_t Solver::value(Term integer) const {
  return state_->model->eval(state_->terms[integer.id_], true).get_numeral_int64();
}

bool Solver::truth(Term truth) const {
  return state_->model->eval(state_->terms[truth.id_], true).is_true();
}

std::size_t Solver::required() const { return state_->script->required(); }

std::string Solver::script(const std::string& title, const std::vector<Term>& extra,
                           std::size_t required) const {
  return state_->script->text(title, ids(extra), required);
}

std::string Solver::version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned build = 0;
  unsigned revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return "Z3 " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(build);
}

Term operator+(Term a, Term b) {
  return TermMaker::made(
      Op::sum, 0, [](auto& x, auto& y) { return x + y; }, a, b);
}
Term operator-(Term a, Term b) {
  return TermMaker::made(
      Op::difference, 0, [](auto& x, auto& y) { return x - y; }, a, b);
}
Term operator*(std::int64_t factor, Term a) {
  return TermMaker::made(
      Op::times, factor, [=](auto& x) { return x.ctx().int_val(factor) * x; }, a);
}
Term operator<=(Term a, Term b) {
  return TermMaker::made(
      Op::at_most, 0, [](auto& x, auto& y) { return x <= y; }, a, b);
}
Term operator<(Term a, Term b) {
  return TermMaker::made(
      Op::less, 0, [](auto& x, auto& y) { return x < y; }, a, b);
}
Term operator==(Term a, Term b) {
  return TermMaker::made(
      Op::equal, 0, [](auto& x, auto& y) { return x == y; }, a, b);
}
Term operator!(Term a) {
  return TermMaker::made(
      Op::negation, 0, [](auto& x) { return !x; }, a);
}
Term floor_div(Term a, std::int64_t divisor) {
  const auto divided = [=](auto& x) { return z3::operator/(x, x.ctx().int_val(divisor)); };
  return TermMaker::made(Op::floor_div, divisor, divided, a);
}
Term floor_mod(Term a, std::int64_t divisor) {
  const auto rest = [=](auto& x) { return z3::mod(x, x.ctx().int_val(divisor)); };
  return TermMaker::made(Op::floor_mod, divisor, rest, a);
}
Term if_then_else(Term condition, Term a, Term b) {
  return TermMaker::made(Op::choice, 0, z3::ite, condition, a, b);
}

}  // namespace ripeline::verify
