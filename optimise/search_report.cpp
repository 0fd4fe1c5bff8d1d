#include "optimise/search_report.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/vocabulary/plural.h"
#include "optimise/written_order.h"

namespace ripeline::optimise {

using Json = nlohmann::json;

namespace {

// The fraction of `time` by which it exceeds `other`, which may be a bound.
double share_above(Time time, Time other) {
  return time == 0 ? 0 : static_cast<double>(time - other) / static_cast<double>(time);
}

// Says for each resource with a capacity how much a rank (or a stage) holds at most, and the
// capacity. Amounts are in the program's units. One unit of --memory has `parts` of these; if
// `parts` is not 1, the text also gives the amounts in units of --memory.
std::string held_text(const Problem& problem, const TimedOrder& order, double parts) {
  const spec::Program& program = problem.program();
  std::string text;
  std::string last_owner;
  for (int resource = 0; resource < size_of(program.resources); ++resource) {
    std::int64_t held = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    for (int p = 0; p < size_of(program.pools); ++p) {
      const spec::Pool& pool = at(program.pools, p);
      if (pool.resource != resource || !pool.capacity) continue;
      held = std::max(held, at(order.peaks, p));
      least = std::min(least, *pool.capacity);
      most = std::max(most, *pool.capacity);
    }
    if (most == 0) continue;
    const spec::Resource& of = at(program.resources, resource);
    const std::string owner = of.per_rank ? "a rank" : "a stage";
    text += owner == last_owner ? ", " : fmt::format("; {} holds at most ", owner);
    last_owner = owner;
    const std::string what = (of.unit.empty() ? "" : of.unit + " of ") + of.name;
    text += least == most ? fmt::format("{} of {} {}", held, most, what)
                          : fmt::format("{} {} with room for {} to {}", held, what, least, most);
    if (parts != 1) {
      text += fmt::format(" ({:g} of {:g} as --memory counts)", static_cast<double>(held) / parts,
                          static_cast<double>(most) / parts);
    }
  }
  return text;
}

// A phrase that names the orders to which the search's bound applies.
std::string among_which(const ModelForms& asked) {
  if (asked.model.empty()) return "of this program";
  const bool several = asked.forms.front().name != asked.forms.back().name;
  return several ? "on any of the placements with this memory"
                 : "on this placement with this memory";
}

// Says for which orders the bound holds, and how much faster the best of them may be.
std::string bound_text(const ModelForms& asked, const FormSearch& search) {
  const Problem& problem = *search.best()->form->problem;
  const Bound& bound = search.bound();
  const std::string none = fmt::format(
      "no {}order {} has a {} below {} ({})", asked.is_cut ? "cut of the layers and no " : "",
      among_which(asked), name_of(problem.objective()), time_text(problem, bound.value), bound.by);
  if (search.best_value() == bound.value) return "optimal: " + none;
  return fmt::format("{}: the best takes at most {:.2f} % less", none,
                     100 * share_above(search.best_value(), bound.value));
}

// States the bound of the best order's cut if it is above the bound of all cuts; otherwise empty.
std::string text_of_cut(const ModelForms& asked, const FormSearch& search) {
  const Problem& problem = *search.best()->form->problem;
  const Bound& bound = search.bound_of(*search.best()->form);
  if (!asked.is_cut || bound.value <= search.bound().value) return "";
  return fmt::format("{}no order of these stages has a {} below {} ({})",
                     search.best_value() == bound.value ? "optimal for this cut: " : "",
                     name_of(problem.objective()), time_text(problem, bound.value), bound.by);
}

// Says why the program should not commit to the order in which its own dispatch ran.
std::string why_not_own_order(const Problem& problem, const TimedOrder& own) {
  const auto committed = problem.timed(own.rows);
  if (!committed) {
    return "The order of that run, with each stage's microbatches in turn, does not run to its end";
  }
  const Time value = problem.value_of(*committed);
  if (value > problem.value_of(own)) {
    return fmt::format("The order of that run takes {} where ranks commit to it",
                       time_text(problem, value));
  }
  return "The order of that run is not proved for every timing where ranks commit to it";
}

// Converts the number to JSON; a whole number is written as 12, not as 12.0.
Json json_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

}  // namespace

std::string time_text(const Problem& problem, Time time) {
  return fmt::format("{:.12g}", problem.in_units(time));
}

std::string improvement_text(const Problem& problem, const FormSearch::Improvement& step) {
  return fmt::format("{:>7.2f} s  {} {:<10} bound {:<10} gap {:>6.2f} %  {}\n", step.seconds,
                     name_of(problem.objective()), time_text(problem, step.value),
                     time_text(problem, step.bound), 100 * share_above(step.value, step.bound),
                     step.method);
}

std::vector<std::string> search_summary(const ModelForms& asked, const FormSearch& search) {
  const Form& form = *search.best()->form;
  const Problem& problem = *form.problem;
  const TimedOrder& order = search.best()->order;
  const Time work = problem.work();
  const auto measure = [&](const char* name, Time time) {
    return fmt::format("{} {} (bubble {}, {:.2f} %)", name, time_text(problem, time),
                       time_text(problem, time - work), 100 * share_above(time, work));
  };
  const std::string model =
      asked.model.empty() ? "" : fmt::format(", {}, placement {}", asked.model, form.name);
  std::vector<std::string> lines = {
      fmt::format("{}, {}{}{}", plural(problem.program().ranks, "rank"),
                  plural(problem.microbatches(), "microbatch"), model,
                  held_text(problem, order, asked.parts[asked.index_of(form)])),
      measure("wall", order.makespan) + "; " + measure("span", order.span),
      bound_text(asked, search)};
  if (!asked.first_layers.empty()) {
    lines.insert(lines.begin() + 1,
                 fmt::format("stages begin with layers {}",
                             fmt::join(asked.first_layers[asked.index_of(form)], ", ")));
  }
  if (const std::string text = text_of_cut(asked, search); !text.empty()) {
    lines.push_back(text);
  }
  return lines;
}

std::string bounds_beside(const ModelForms& asked, const Problem& problem, const Bound& known) {
  const char* const among = asked.model.empty() ? "of this program"
                            : asked.is_cut      ? "of these stages"
                                                : "on this placement";
  std::string text;
  for (const int change : {-1, 1}) {
    const auto other = problem.with_room(change);
    if (!other || !other->fits()) continue;
    const Time bound = std::max(other->bound().value, change < 0 ? known.value : 0);
    text += fmt::format("{}{} with room for one microbatch {}",
                        text.empty() ? fmt::format("no order {} has a {} below ", among,
                                                   name_of(problem.objective()))
                                     : ", and none below ",
                        time_text(problem, bound), change < 0 ? "less" : "more");
  }
  return text.empty() ? "" : text + "\n";
}

std::string text_of_none(const FormSearch& search) {
  return search.fits()
             ? "no order was found, and none was shown to be impossible: try more --seconds, "
               "another --seed or more memory"
             : "no order fits: before a rank releases anything, it must hold more than it has room "
               "for";
}

std::string text_of_own_that_stays(const Problem& problem, const FormSearch& search,
                                   const TimedOrder& own) {
  return fmt::format(
      "nothing is written: with its own dispatch, which is proved, the program has a {} of {}, and "
      "{}. {}.",
      name_of(problem.objective()), time_text(problem, problem.value_of(own)),
      search.best() ? "the best order that was found and is proved takes " +
                          time_text(problem, search.best_value())
                    : "no order was found that is proved",
      why_not_own_order(problem, own));
}

std::string text_of_unproved_own(const Problem& problem, const TimedOrder& own) {
  return fmt::format(
      "with its own dispatch the program has a simulated {} of {}, but that is not proved for "
      "every timing",
      name_of(problem.objective()), time_text(problem, problem.value_of(own)));
}

Json search_json(const ReportedSearch& reported) {
  const FormSearch& search = reported.search;
  const ModelOptions& options = reported.options;
  const std::optional<TimedOrder>& own = reported.own;
  const Problem& problem = *reported.asked.forms.front().problem;
  Json j = {{"schema", "ripeline.optimise/2"},
            {"ranks", problem.program().ranks},
            {"seed", reported.seed},
            {"costs", options.costs},
            {"profile", options.profile.empty() ? Json() : Json(options.profile)},
            {"memory", options.memory.empty() ? Json() : Json(options.memory)},
            {"objective", name_of(problem.objective())},
            {"status", reported.own_stays || search.fits() ? "none" : "infeasible"},
            {"own", own ? json_number(problem.in_units(problem.value_of(*own))) : Json()},
            {"seconds", search.seconds()},
            {"solver", search.used_solver() ? "cp-sat" : "none"},
            {"progress", Json::array()}};
  for (const FormSearch::Improvement& step : search.improvements()) {
    j["progress"].push_back({{"seconds", step.seconds},
                             {"value", json_number(problem.in_units(step.value))},
                             {"bound", json_number(problem.in_units(step.bound))},
                             {"method", step.method}});
  }
  return j;
}

Json search_json(const ReportedSearch& reported, const simulate::ReportedRun& run) {
  const ModelForms& asked = reported.asked;
  const FormSearch& search = reported.search;
  Json j = search_json(reported);
  const Json simulated = simulate::report_json(run);
  for (const char* same :
       {"program", "params", "hash", "microbatches", "unit", "wall", "span", "work", "wall_bubble",
        "wall_bubble_rate", "span_bubble", "span_bubble_rate", "peak"}) {
    j[same] = simulated[same];
  }
  const Form& form = *search.best()->form;
  const Time value = search.best_value();
  const Time bound = search.bound().value;
  j.update(
      {{"status", value == bound ? "optimal" : "feasible"},
       {"bound", json_number(form.problem->in_units(bound))},
       {"bound_by", search.bound().by},
       {"gap", share_above(value, bound)},
       {"cut_bound",
        asked.is_cut ? json_number(form.problem->in_units(search.bound_of(form).value)) : Json()},
       {"cut_bound_by", asked.is_cut ? Json(search.bound_of(form).by) : Json()},
       {"placement", form.name.empty() ? Json() : Json(form.name)},
       {"first_layers",
        asked.first_layers.empty() ? Json() : Json(asked.first_layers[asked.index_of(form)])},
       {"dispatch", fmt::format("in order {}", name_of_order(form.problem->program()))}});
  return j;
}

}  // namespace ripeline::optimise
