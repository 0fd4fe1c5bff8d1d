#include "optimise/forms.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "optimise/search/search.h"

namespace ripeline::optimise {
FormSearch::FormSearch(const std::vector<Form>& forms, Options options)
    : forms_(forms),
      options_(std::move(options)),
      found_(forms.size()),
      searches_(forms.size(), 0) {
  for (const Form& form : forms) bounds_.push_back(form.problem->bound());
  find_bound();
}

// Puts the form's name before the text, unless all forms have the same name.
std::string FormSearch::named(const Form& form, std::string_view text) const {
  const bool alone = std::all_of(forms_.begin(), forms_.end(),
                                 [&](const Form& other) { return other.name == form.name; });
  return alone ? std::string(text) : fmt::format("{}: {}", form.name, text);
}

void FormSearch::find_bound() {
  bound_ = options_.others;
  bounding_ = 0;
  for (const Form& form : forms_) {
    const Bound& bound = bound_of(form);
    if (!fits(form) || (fits() && bound_.value <= bound.value)) continue;
    bound_ = bound;
    bound_.by = named(form, bound.by);
    bounding_ = index_of(form);
  }
}

const Bound& FormSearch::bound_of(const Form& form) const { return bounds_[index_of(form)]; }

void FormSearch::run() {
  constexpr std::size_t kNearest = 8;
  if (forms_.size() > 1) {
    // First all forms share a tenth of the time. So each was tried even if the search ends early.
    share(open_forms(), .1 * options_.seconds, false);
    std::vector<const Form*> nearest = open_forms();
    std::erase_if(nearest, [&](const Form* form) { return !is_near(*form); });
    nearest.resize(std::min(nearest.size(), kNearest));
    if (nearest.size() > 1) share(nearest, seconds() + .3 * options_.seconds, false);
  }
  if (best_) search(*best_->form, options_.seconds, true);
  // The remaining time goes to the forms that may still have the best order.
  std::vector<const Form*> open = open_forms();
  if (open.size() > kNearest) {
    open.resize(kNearest);
    share(open, seconds() + (options_.seconds - seconds()) / 2, true);
    open = open_forms();
  }
  share(open, options_.seconds, true);
}

// The forms that may still have the best order, sorted by the best value found for each.
std::vector<const Form*> FormSearch::open_forms() const {
  std::vector<const Form*> open;
  for (const Form& form : forms_) {
    if (is_open(form)) open.push_back(&form);
  }
  const auto value = [&](const Form* form) {
    const std::optional<TimedOrder>& found = found_[index_of(*form)];
    return found ? form->problem->value_of(*found) : INT64_MAX;
  };
  std::stable_sort(open.begin(), open.end(),
                   [&](const Form* a, const Form* b) { return value(a) < value(b); });
  return open;
}

// Searches each form for an equal part of the time until `end`. Unused time goes to later forms.
void FormSearch::share(const std::vector<const Form*>& forms, double end, bool with_solver) {
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const double each = (end - seconds()) / static_cast<double>(forms.size() - i);
    search(*forms[i], seconds() + each, with_solver);
  }
}

bool FormSearch::is_open(const Form& form) const {
  return fits(form) && (!best_ || bound_of(form).value < best_value());
}

// Whether the form's best known order is at most a tenth slower than the best order of all forms.
// Also true if one of these two orders is unknown.
bool FormSearch::is_near(const Form& form) const {
  constexpr double kFar = 1.1;
  const std::optional<TimedOrder>& found = found_[index_of(form)];
  return !best_ || !found ||
         static_cast<double>(form.problem->value_of(*found)) <=
             kFar * static_cast<double>(best_value());
}

Time FormSearch::best_value() const { return best_->form->problem->value_of(best_->order); }

double FormSearch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

// Searches the form until `end`, or until nothing better is possible.
void FormSearch::search(const Form& form, double end, bool with_solver) {
  constexpr double kAlone = .3;  // seconds without the solver, since easy orders need none
  const Problem& problem = *form.problem;
  if (!is_open(form)) return;
  std::optional<SolverThreads> solver;
  std::optional<TimedOrder>& known = found_[index_of(form)];
  elsewhere_ = known;
  const double begin = seconds();
  const auto go_on = [&] {
    if (with_solver && options_.solver_threads > 0 && !solver && no_solver_.empty() &&
        seconds() > begin + kAlone) {
      solver.emplace(problem, options_.solver_threads, options_.seed);
      if (known) solver->offer(*known);
    }
    if (solver) ask(*solver, form);
    return (!options_.go_on || options_.go_on()) && seconds() < end && is_open(form);
  };
  // Each search of the same form draws other random rules.
  const std::uint64_t seed = options_.seed + searches_[index_of(form)]++;
  optimise::search(problem, problem.bound().value,
                   {.go_on = go_on,
                    .seed = seed,
                    .elsewhere = [&] { return std::exchange(elsewhere_, std::nullopt); }},
                   [&](const TimedOrder& order, std::string_view method) {
                     add(form, order, method);
                     if (solver) solver->offer(order);
                   });
  // If the search ended before any form had an order, the solver may still find one.
  const auto is_waited_for = [&] {
    return solver ? !solver->is_over() : with_solver && options_.solver_threads > 0;
  };
  while (!best_ && go_on() && is_waited_for()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (solver) ask(*solver, form);
}

void FormSearch::ask(SolverThreads& solver, const Form& form) {
  no_solver_ = solver.why();
  used_solver_ = no_solver_.empty();
  Bound& bound = bounds_[index_of(form)];
  if (Bound better = solver.bound(); better.value > bound.value) {
    bound = std::move(better);
    find_bound();
  }
  if (auto order = solver.take()) {
    add(form, *order, "CP-SAT");
    elsewhere_ = std::move(order);
  }
}

void FormSearch::add(const Form& form, const TimedOrder& order, std::string_view method) {
  const Time value = form.problem->value_of(order);
  std::optional<TimedOrder>& known = found_[index_of(form)];
  if (!known || value < form.problem->value_of(*known)) known = order;
  const bool better = !best_ || value < best_value();
  if (!better) {
    // An order with the same objective may still be better by the other measure.
    if (best_->form == &form && value == best_value() &&
        order.makespan + order.span < best_->order.makespan + best_->order.span) {
      best_->order = order;
    }
    return;
  }
  best_ = Best{&form, order};
  improvements_.push_back({seconds(), value, bound_of(form).value, named(form, method)});
  if (options_.improved) options_.improved(improvements_.back());
}

}  // namespace ripeline::optimise
