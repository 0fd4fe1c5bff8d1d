// BestOrder: finds the best order among a model's forms in a given time, proves it and can race it.
//
//   BestOrder best(forms, {.budget = Budget(10)});
//   best.search();
//   if (best.is_found() && best.prove().ok()) write(best.text());
//
// Improvements are reported during the search. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "optimise/budget.h"
#include "optimise/certified.h"
#include "optimise/forms.h"
#include "optimise/model_forms.h"
#include "optimise/model_options.h"
#include "optimise/racing/order_race.h"
#include "simulate/report.h"
#include "spec/diagnostics.h"

namespace ripeline::optimise {

struct BestOrderOptions {
  Budget budget = Budget(10);  // for search, proof, run and race together
  std::uint64_t seed = 1;
  int solver_threads = 0;  // 0 means no solver
  bool races = false;      // a part of the time is reserved for race()
  bool every_count = false;
  std::vector<std::string> comments = {};  // for the top of the text, above the search's summary
  std::function<bool()> go_on = {};        // as in FormSearch; may be empty
  // Gets each improvement, and the problem whose unit its times have; may be empty.
  std::function<void(const FormSearch::Improvement&, const Problem&)> improved = {};
};

class BestOrder {
 public:
  // `asked` must outlive this object.
  BestOrder(const ModelForms& asked, BestOrderOptions options);
  BestOrder(const BestOrder&) = delete;
  BestOrder& operator=(const BestOrder&) = delete;

  void search();
  // Sentences on the search: why there is no solver, why the program's own dispatch does not count.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // False if no order was found, or if the program's own dispatch is proved and faster.
  [[nodiscard]] bool is_found() const { return !own_stays_ && search_.best().has_value(); }
  // why_none() says why no order was found; may_exist() says whether there may still be one.
  [[nodiscard]] std::string why_none() const;
  [[nodiscard]] bool may_exist() const { return own_stays_ || search_.fits(); }

  // Proves the order that was found. An error is a defect of Ripeline.
  [[nodiscard]] spec::Result<void> prove();
  // Races the proved order against a variant that is improved for varying times, and against hints
  // that follow either order. Call prove() first. If the race fails, the proved order stays.
  [[nodiscard]] spec::Result<void> race(RaceOptions options);

  [[nodiscard]] int microbatches() const { return form().problem->microbatches(); }
  // The run of the order that was proved; the program of order_text() makes it with times().
  [[nodiscard]] simulate::ReportedRun run() const;
  [[nodiscard]] const std::string& order_text() const { return certified_->text; }
  [[nodiscard]] const simulate::TimingOptions& times() const { return form().problem->times(); }
  // text() is the program to be written; is_for_every_count() says if it fits any microbatch count.
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool is_for_every_count() const { return every_count_.has_value(); }
  // Whether the program commits to an order that PyTorch's format can express.
  [[nodiscard]] bool has_actions() const;
  // The sentence on what limits the time (optimise/what_binds.h).
  [[nodiscard]] std::string what_binds() const;
  // report(): the result as text. json(): the object of --format json, even if nothing was found.
  [[nodiscard]] std::string report(bool interrupted) const;
  [[nodiscard]] nlohmann::json json(const ModelOptions& options) const;

 private:
  [[nodiscard]] const Form& form() const { return *search_.best()->form; }
  [[nodiscard]] Claim claim() const { return claim_of(search_, asked_.read_file); }
  [[nodiscard]] FormSearch::Options search_options();
  [[nodiscard]] double seconds_to_end() const;
  [[nodiscard]] double kept_for_race() const;
  [[nodiscard]] bool goes_on() const { return !options_.go_on || options_.go_on(); }

  struct Raced {
    OrderRace orders;
    RaceResult result;
    PickedDispatch pick;
  };

  const ModelForms& asked_;
  BestOrderOptions options_;
  bool is_first_ = true;  // true until the first improvement
  FormSearch search_;
  std::optional<TimedOrder> own_;
  bool own_stays_ = false;
  std::vector<std::string> notes_;
  std::vector<std::string> found_;     // the summary of the search, as sentences
  std::vector<std::string> comments_;  // for the written program
  std::optional<Certified> certified_;
  std::optional<std::string> every_count_;
  std::optional<Raced> raced_;
};

}  // namespace ripeline::optimise
