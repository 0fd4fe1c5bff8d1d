// One model in several forms, such as placements and cuts of its layers: which order of which of
// them is the best.
//
// All are tried for a part of the time, those that are nearest to the best for some more, and the
// one that is then best has the rest, with the solver beside the search. If nothing is better on
// that, what is left of the time is for the others that may be. For one thread.
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
  std::string name;     // `v`; empty: it is the only one
  spec::Source source;  // the text of the problem's program
  std::unique_ptr<Problem> problem;
  bool fits = true;  // false: no order is one of it, whatever the problem says
};

// All have the same objective and unit.
class FormSearch {
 public:
  struct Improvement {
    double seconds = 0;
    Time value = 0;  // the objective
    Time bound = 0;  // its form's, as it was known then
    std::string method;
  };
  struct Options {
    double seconds = 10;
    std::uint64_t seed = 1;
    int solver_threads = 0;            // 0: without the solver
    std::function<bool()> go_on = {};  // as of Limits
    std::function<void(const Improvement&)> improved = {};
    Bound others = {};  // no order of a form that is not here is below it; empty: there is none
  };
  struct Best {
    const Form* form = nullptr;
    Found order;
  };

  // `forms` must outlive it.
  FormSearch(const std::vector<Form>& forms, Options options);

  void run();

  [[nodiscard]] const std::optional<Best>& best() const { return best_; }
  [[nodiscard]] Time best_value() const;  // the objective; there is a best
  // No order of any of the forms, and of the others, is below it. If no form fits: that of the
  // others, or 0 without others.
  [[nodiscard]] const Bound& bound() const { return bound_; }
  [[nodiscard]] bool fits() const { return !bound_.by.empty(); }
  // The form whose bound that is; the first one, where none fits or that of the others is lower.
  [[nodiscard]] const Form& bounding() const { return forms_[bounding_]; }
  [[nodiscard]] const std::vector<Improvement>& improvements() const { return improvements_; }
  // The best bound that is known of a form: its problem's, or a higher one of the solver.
  [[nodiscard]] const Bound& bound_of(const Form& form) const;
  // Whether the solver ran; and why it could not, where it was asked for.
  [[nodiscard]] bool used_solver() const { return used_solver_; }
  [[nodiscard]] const std::string& no_solver() const { return no_solver_; }
  [[nodiscard]] double seconds() const;  // since it was made

 private:
  [[nodiscard]] static bool fits(const Form& form) { return form.fits && form.problem->fits(); }
  [[nodiscard]] std::size_t index_of(const Form& form) const {
    return static_cast<std::size_t>(&form - forms_.data());
  }
  [[nodiscard]] static Time value_of(const Form& form, const Found& order);
  [[nodiscard]] bool is_near(const Form& form) const;
  [[nodiscard]] bool is_open(const Form& form) const;
  [[nodiscard]] std::string named(const Form& form, std::string_view text) const;
  [[nodiscard]] std::vector<const Form*> open_forms() const;
  void share(const std::vector<const Form*>& forms, double end, bool with_solver);
  void search(const Form& form, double end, bool with_solver);
  void find_bound();
  void ask(SolverThreads& solver, const Form& form);
  void add(const Form& form, const Found& order, std::string_view method);

  const std::vector<Form>& forms_;
  Options options_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::vector<Bound> bounds_;                // per form, as the next one
  std::vector<std::optional<Found>> found_;  // the best order of each
  std::vector<std::uint64_t> searches_;      // how often each was searched
  Bound bound_;
  std::size_t bounding_ = 0;  // whose bound it is
  std::optional<Best> best_;
  std::optional<Found> elsewhere_;  // an order that the search has not seen
  bool used_solver_ = false;
  std::string no_solver_;
  std::vector<Improvement> improvements_;
};

}  // namespace ripeline::optimise
