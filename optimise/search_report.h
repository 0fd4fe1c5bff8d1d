// The output of `ripeline optimise` for one memory: what a search found and how good it is, as
// text and as JSON (docs/formats.md).
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
#include "optimise/problem.h"
#include "simulate/report.h"

namespace ripeline::optimise {

// A program's own dispatch chooses among what has arrived, and may be faster than any order that is
// safe. What deadlocks under other timings is nothing to keep.
enum class OwnDispatch : std::uint8_t {
  slower,    // than what was found, or as fast; or there is none
  unproved,  // faster, but not proved for every timing
  stays,     // faster, and proved
};
// `own` is Problem::of_own_dispatch(), if there is a program that has one.
[[nodiscard]] OwnDispatch own_dispatch(const Problem& problem, const std::optional<Found>& own,
                                       const FormSearch& search);

// The time in the problem's unit.
[[nodiscard]] std::string time_text(const Problem& problem, Time time);
// For progress; ends with a newline.
[[nodiscard]] std::string improvement_text(const Problem& problem,
                                           const FormSearch::Improvement& step);
// A few sentences about what was found; there is a best.
[[nodiscard]] std::vector<std::string> search_summary(const ModelForms& asked,
                                                      const FormSearch& search);
// Lower bounds with room for one microbatch less and one more, for the stages of what was found.
// With less nothing is below the bound that is known with what there is. Ends with a newline.
// Empty: neither makes sense.
[[nodiscard]] std::string bounds_beside(const ModelForms& asked, const Problem& problem,
                                        const Bound& known);
// Sentences for people, where nothing is written: there is no best, or the own dispatch stays or is
// faster without a proof.
[[nodiscard]] std::string text_of_none(const FormSearch& search);
[[nodiscard]] std::string text_of_own_that_stays(const Problem& problem, const FormSearch& search,
                                                 const Found& own);
[[nodiscard]] std::string text_of_unproved_own(const Problem& problem, const Found& own);

// The object of --format json. What was asked is as it was written; empty: null.
struct ReportedSearch {
  const ModelForms& asked;
  const FormSearch& search;
  const std::optional<Found>& own;
  bool own_stays = false;
  std::uint64_t seed = 1;
  std::vector<std::string> costs = {};
  std::string profile = {};
  std::string memory = {};
};
// Nothing is written.
[[nodiscard]] nlohmann::json search_json(const ReportedSearch& reported);
// `run` is of the best order, which was certified.
[[nodiscard]] nlohmann::json search_json(const ReportedSearch& reported,
                                         const simulate::ReportedRun& run);

}  // namespace ripeline::optimise
