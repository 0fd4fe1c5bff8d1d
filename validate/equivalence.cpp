#include "validate/equivalence.h"

#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/guards.h"
#include "spec/indexing.h"
#include "verify/solver/solver.h"

namespace ripeline::validate {

using spec::Program;
using verify::Solver;
using verify::Term;

namespace {

// Reads (op a b) over integers, true, false and h<pool>.
class FormulaReader {
 public:
  FormulaReader(Solver& solver, std::map<int, Term>& held, int pools)
      : solver_(solver), held_(held), pools_(pools) {}

  std::optional<Term> read(std::string_view text) {
    rest_ = text;
    const std::optional<Value> value = term(0);
    return value && rest_.empty() ? std::optional(value->term) : std::nullopt;
  }

 private:
  // Z3 is told of no sum of truths.
  struct Value {
    Term term;
    bool is_truth = false;
  };
  static constexpr int kDeepest = 1000;

  std::string_view word() {
    const std::size_t end = rest_.find_first_of(" ()");
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(found.size());
    return found;
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<Value> term(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (!take('(')) return atom(word());
    const std::string_view op = word();
    if (!take(' ')) return std::nullopt;
    const std::optional<Value> a = term(depth + 1);
    if (!a || !take(' ')) return std::nullopt;
    const std::optional<Value> b = term(depth + 1);
    if (!b || !take(')')) return std::nullopt;
    return joined(op, *a, *b);
  }

  std::optional<Value> joined(std::string_view op, const Value& a, const Value& b) {
    if (a.is_truth != b.is_truth) return std::nullopt;
    if (a.is_truth) {
      if (op == "and") return Value{solver_.all_of({a.term, b.term}), true};
      if (op == "or") return Value{solver_.any_of({a.term, b.term}), true};
      return std::nullopt;
    }
    if (op == "+") return Value{a.term + b.term, false};
    if (op == "-") return Value{a.term - b.term, false};
    if (op == "<=") return Value{a.term <= b.term, true};
    return std::nullopt;
  }

  std::optional<Value> atom(std::string_view text) {
    if (text == "true") return Value{solver_.all_of({}), true};
    if (text == "false") return Value{solver_.any_of({}), true};
    const bool is_held = text.starts_with('h');
    if (is_held) text.remove_prefix(1);
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    if (!is_held) return Value{solver_.number(number), false};
    if (number < 0 || number >= pools_) return std::nullopt;
    return Value{held(static_cast<int>(number)), false};
  }

  Term held(int pool) {
    const auto found = held_.find(pool);
    if (found != held_.end()) return found->second;
    return held_.emplace(pool, solver_.integer("h" + std::to_string(pool))).first->second;
  }

  Solver& solver_;
  std::map<int, Term>& held_;
  int pools_;
  std::string_view rest_;
};

// One lane at a time, each with a solver of its own: none grows with the pipeline.
class LaneComparison {
 public:
  LaneComparison(const Program& program, int lane, Equivalence& out)
      : program_(program), lane_(lane), out_(out) {}

  void guard(const std::optional<std::string>& emitted) {
    std::vector<Term> specified;
    std::vector<std::string> words;
    for (const spec::RoomGuard& guard : spec::guards_of(program_, lane_).rooms) {
      const std::int64_t most = guard.room.most_held();
      specified.push_back(held(guard.pool) <= solver_.number(most));
      words.push_back(fmt::format("{} <= {}", program_.pool_name(guard.pool), most));
    }
    const std::string text = words.empty() ? "true" : fmt::format("{}", fmt::join(words, " and "));
    compare("may start", emitted.value_or(""), solver_.all_of(specified), text, true);
  }

  void change(const char* what, const std::vector<EmittedChange>& emitted,
              const std::map<int, std::int64_t>& specified) {
    std::map<int, std::string> after;
    for (const EmittedChange& e : emitted) after[e.pool] = e.after;
    for (const auto& [pool, amount] : specified) after.try_emplace(pool, fmt::format("h{}", pool));
    for (const auto& [pool, text] : after) {
      if (pool < 0 || pool >= size_of(program_.pools)) {
        differ(fmt::format("{} of a pool {}, which the program has not", what, pool));
        continue;
      }
      const auto known = specified.find(pool);
      const std::int64_t amount = known == specified.end() ? 0 : known->second;
      compare(fmt::format("{} of {}", what, program_.pool_name(pool)), text,
              held(pool) + solver_.number(amount), fmt::format("h{} + {}", pool, amount), false);
    }
  }

 private:
  Term held(int pool) {
    const std::string name = "h" + std::to_string(pool);
    return *FormulaReader(solver_, held_, size_of(program_.pools)).read(name);
  }

  void differ(const std::string& what) {
    out_.differences.push_back(fmt::format("{}: {}", program_.lane_name(lane_), what));
  }

  void compare(const std::string& what, const std::string& emitted, Term specified,
               const std::string& text, bool is_truth) {
    const auto term = FormulaReader(solver_, held_, size_of(program_.pools)).read(emitted);
    const bool fits = emitted.starts_with("(<=") || emitted.starts_with("(and") ||
                      emitted.starts_with("(or") || emitted == "true" || emitted == "false";
    if (!term || fits != is_truth) {
      differ(fmt::format("{}: '{}' is not a formula of a generated header", what, emitted));
      return;
    }
    const std::string query = fmt::format("{} {}", program_.lane_name(lane_), what);
    switch (solver_.check(query, {!(*term == specified)})) {
      case verify::Answer::unsat:
        ++out_.proved;
        return;
      case verify::Answer::unknown:
        differ(fmt::format("{}: the solver did not decide whether {} is {}", what, emitted, text));
        return;
      case verify::Answer::sat:
        differ(fmt::format("{}: emitted {}, specified {}; they differ where {}", what, emitted,
                           text, values(*term, specified, is_truth)));
        return;
    }
  }

  std::string values(Term emitted, Term specified, bool is_truth) {
    std::vector<std::string> texts;
    for (const auto& [pool, term] : held_) {
      texts.push_back(
          fmt::format("{} (h{}) is {}", program_.pool_name(pool), pool, solver_.value(term)));
    }
    const auto shown = [&](Term term) {
      if (!is_truth) return std::to_string(solver_.value(term));
      return std::string(solver_.truth(term) ? "true" : "false");
    };
    return fmt::format("{}: {} and {}", fmt::join(texts, " and "), shown(emitted),
                       shown(specified));
  }

  const Program& program_;
  int lane_;
  Equivalence& out_;
  Solver solver_{1'000'000};
  std::map<int, Term> held_;
};

std::map<int, std::int64_t> acquired(const Program& program, const spec::Lane& lane) {
  std::map<int, std::int64_t> amounts;
  for (const spec::Acquire& a : lane.acquires) {
    if (at(program.pools, a.pool).capacity) amounts[a.pool] = a.amount;
  }
  return amounts;
}

std::map<int, std::int64_t> released(const Program& program, const spec::Lane& lane) {
  std::map<int, std::int64_t> amounts;
  for (const spec::Release& r : lane.releases) {
    if (at(program.pools, r.pool).capacity) amounts[r.pool] = -r.amount;
  }
  return amounts;
}

}  // namespace

Equivalence compare_emitted(const Program& program, const std::vector<EmittedLane>& lanes) {
  Equivalence out;
  out.solver = Solver::version();
  if (lanes.size() != program.lanes.size()) {
    out.differences.push_back(fmt::format("formulas for {} lanes were emitted; the program has {}",
                                          lanes.size(), program.lanes.size()));
    return out;
  }
  for (int lane = 0; lane < size_of(lanes); ++lane) {
    LaneComparison comparison(program, lane, out);
    comparison.guard(at(lanes, lane).guard);
    const spec::Lane& l = at(program.lanes, lane);
    comparison.change("what it acquires", at(lanes, lane).acquired, acquired(program, l));
    comparison.change("what it releases", at(lanes, lane).released, released(program, l));
  }
  return out;
}

}  // namespace ripeline::validate
