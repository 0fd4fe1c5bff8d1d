// The output of `ripeline optimise` for one memory: the order that a search found and how good this
// order is, as text and as JSON (docs/formats.md).
//
// Pure functions; never throw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "optimise/forms.h"
#include "optimise/model_forms.h"
#include "optimise/model_options.h"
#include "optimise/problem.h"
#include "simulate/report.h"

namespace ripeline::optimise {

// The time as text, in the problem's unit.
[[nodiscard]] std::string time_text(const Problem& problem, Time time);
// A line that reports an improvement during the search; ends with a newline.
[[nodiscard]] std::string improvement_text(const Problem& problem,
                                           const FormSearch::Improvement& step);
// A few sentences about the best order; search.best() must not be empty.
[[nodiscard]] std::vector<std::string> search_summary(const ModelForms& asked,
                                                      const FormSearch& search);
// Lower bounds with room for one microbatch less and with room for one more. `problem` must have
// the stages of the best order. `known` is a bound with the present room, so it also holds with
// less. The text ends with a newline; it is empty if neither bound makes sense.
[[nodiscard]] std::string bounds_beside(const ModelForms& asked, const Problem& problem,
                                        const Bound& known);
// Texts for users. The first two say why no program is written: no order was found, or the
// program's own dispatch is kept. The third says that this dispatch is faster, but is not proved.
[[nodiscard]] std::string text_of_none(const FormSearch& search);
[[nodiscard]] std::string text_of_own_that_stays(const Problem& problem, const FormSearch& search,
                                                 const TimedOrder& own);
[[nodiscard]] std::string text_of_unproved_own(const Problem& problem, const TimedOrder& own);

// The input of search_json(). Options are as the user wrote them; an empty text becomes null.
struct ReportedSearch {
  const ModelForms& asked;
  const FormSearch& search;
  const std::optional<TimedOrder>& own;
  bool own_stays;
  std::uint64_t seed;
  const ModelOptions& options;  // as the user wrote them; an option not given is null in JSON
};
// The object of --format json if no program is written.
[[nodiscard]] nlohmann::json search_json(const ReportedSearch& reported);
// The object if a program is written. `run` is the simulated run of the certified best order.
[[nodiscard]] nlohmann::json search_json(const ReportedSearch& reported,
                                         const simulate::ReportedRun& run);

}  // namespace ripeline::optimise
