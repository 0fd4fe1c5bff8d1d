// FormSearch: searches for the best order of a model among several forms of that model, such as
// placements and cuts of its layers.
//
// All forms are searched for a part of the time, then the forms near the best for some more. Then
// the form with the best order gets the rest, and the solver runs beside the search. If that search
// ends early, the time left goes to other forms that may still be better. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optimise/problem.h"
#include "optimise/solver_threads.h"
#include "spec/diagnostics.h"

namespace ripeline::optimise {

struct Form {
  std::string name;     // such as `v`; empty if it is the only form
  spec::Source source;  // the text of the problem's program
  std::unique_ptr<Problem> problem;
  bool fits = true;  // false if the form has no order, even if the problem has one
};

// Searches forms that have the same objective and unit.
class FormSearch {
 public:
  struct Improvement {
    double seconds = 0;
    Time value = 0;  // the objective
    Time bound = 0;  // the bound of the form that was known at that time
    std::string method;
  };
  struct Options {
    double seconds = 10;
    std::uint64_t seed = 1;
    int solver_threads = 0;            // 0 means no solver
    std::function<bool()> go_on = {};  // false ends the search; may be empty
    std::function<void(const Improvement&)> improved = {};
    Bound others = {};  // a bound for orders of all other forms; empty if there is none
  };
  struct Best {
    const Form* form = nullptr;
    TimedOrder order;
  };

  // `forms` must outlive the search.
  FormSearch(const std::vector<Form>& forms, Options options);

  void run();

  [[nodiscard]] const std::optional<Best>& best() const { return best_; }
  [[nodiscard]] Time best_value() const;  // the makespan or span of best(), which must not be empty
  // A bound for all orders of the forms and of Options::others. If no form has an order, the bound
  // is Options::others, whose value is 0 by default.
  [[nodiscard]] const Bound& bound() const { return bound_; }
  [[nodiscard]] bool fits() const { return !bound_.by.empty(); }
  // The form to which bound() belongs; the first form if bound() is Options::others.
  [[nodiscard]] const Form& bounding() const { return forms_[bounding_]; }
  [[nodiscard]] const std::vector<Improvement>& improvements() const { return improvements_; }
  // The largest known bound of a form, from its problem or from the solver.
  [[nodiscard]] const Bound& bound_of(const Form& form) const;
  // Whether the solver ran. If it was requested but did not run, no_solver() says why.
  [[nodiscard]] bool used_solver() const { return used_solver_; }
  [[nodiscard]] const std::string& no_solver() const { return no_solver_; }
  [[nodiscard]] double seconds() const;  // since the search object was made

 private:
  [[nodiscard]] static bool fits(const Form& form) { return form.fits && form.problem->fits(); }
  [[nodiscard]] std::size_t index_of(const Form& form) const {
    return static_cast<std::size_t>(&form - forms_.data());
  }
  [[nodiscard]] bool is_near(const Form& form) const;
  [[nodiscard]] bool is_open(const Form& form) const;
  [[nodiscard]] std::string named(const Form& form, std::string_view text) const;
  [[nodiscard]] std::vector<const Form*> open_forms() const;
  void share(const std::vector<const Form*>& forms, double end, bool with_solver);
  void search(const Form& form, double end, bool with_solver);
  void find_bound();
  void ask(SolverThreads& solver, const Form& form);
  void add(const Form& form, const TimedOrder& order, std::string_view method);

  const std::vector<Form>& forms_;
  Options options_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::vector<Bound> bounds_;                     // per form, like the next two vectors
  std::vector<std::optional<TimedOrder>> found_;  // the best known order of the form
  std::vector<std::uint64_t> searches_;           // how often the form was searched
  Bound bound_;
  std::size_t bounding_ = 0;  // the form to which `bound_` belongs
  std::optional<Best> best_;
  std::optional<TimedOrder> elsewhere_;  // an order for the search: the solver's or an earlier one
  bool used_solver_ = false;
  std::string no_solver_;
  std::vector<Improvement> improvements_;
};

}  // namespace ripeline::optimise
