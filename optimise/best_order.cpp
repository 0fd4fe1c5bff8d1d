#include "optimise/best_order.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "optimise/racing/race_report.h"
#include "optimise/search_report.h"
#include "optimise/what_binds.h"
#include "pytorch/export.h"

namespace ripeline::optimise {
namespace {

constexpr double kPartForRace = .4;  // a share of the time

}  // namespace

BestOrder::BestOrder(const ModelForms& asked, BestOrderOptions options)
    : asked_(asked), options_(std::move(options)), search_(asked.forms, search_options()) {}

double BestOrder::kept_for_race() const {
  return options_.races ? kPartForRace * options_.budget.all() : 0;
}

FormSearch::Options BestOrder::search_options() {
  options_.budget.keep(kept_for_race());
  return {.seconds = options_.budget.left(),
          .seed = options_.seed,
          .solver_threads = options_.solver_threads,
          .go_on = [this] { return goes_on() && !options_.budget.is_over(); },
          .improved =
              [this](const FormSearch::Improvement& step) {
                if (options_.improved) options_.improved(step, *asked_.forms.front().problem);
                if (std::exchange(is_first_, false)) {
                  options_.budget.keep(kept_for_race() + seconds_to_end());
                }
              },
          .others = asked_.other_cuts};
}

// The seconds needed to prove, run and report an order. They are measured by doing this with the
// best order so far.
double BestOrder::seconds_to_end() const {
  if (options_.budget.is_over()) return 0;
  const double begun = options_.budget.gone();
  const Claim claim = this->claim();
  const bool made = certified(claim, {}).ok();
  if (made) (void)bounds_beside(asked_, claim.problem, claim.bound);
  return options_.budget.gone() - begun;
}

void BestOrder::search() {
  search_.run();
  if (!search_.no_solver().empty()) {
    notes_.push_back("without the solver: " + search_.no_solver());
  }
  const Problem& first = *asked_.forms.front().problem;
  if (asked_.model.empty()) own_ = first.of_own_dispatch();
  // The program's own dispatch chooses among ready tasks, so it may be faster than any safe order.
  // It is not kept if it can deadlock under other timings.
  if (own_ && !(search_.best() && search_.best_value() <= first.value_of(*own_))) {
    own_stays_ = first.is_own_dispatch_safe();
    if (!own_stays_) notes_.push_back(text_of_unproved_own(first, *own_));
  }
  if (!is_found()) return;
  found_ = search_summary(asked_, search_);
  comments_ = options_.comments;
  comments_.insert(comments_.end(), found_.begin(), found_.end());
}

std::string BestOrder::why_none() const {
  return own_stays_ ? text_of_own_that_stays(*asked_.forms.front().problem, search_, *own_)
                    : text_of_none(search_);
}

spec::Result<void> BestOrder::prove() {
  auto made = certified(claim(), comments_);
  if (!made.ok()) return made.errors();
  certified_ = std::move(made).value();
  if (options_.every_count) every_count_ = for_every_count(claim(), comments_);
  return {};
}

// Improves the order until only the time for the race is left, then races. `go_on` is also called
// during the race; if it returns false, the race fails.
spec::Result<void> BestOrder::race(RaceOptions options) {
  options.go_on = options_.go_on;
  options_.budget.keep(0);
  const Claim claim = this->claim();
  const double for_race = seconds_of_race(*certified_, microbatches(), asked_.times, options.seeds);
  auto orders = order_race(claim, asked_.times,
                           [&] { return goes_on() && options_.budget.left() > for_race; });
  if (!orders.ok()) return orders.errors();
  RaceResult result;
  const core::Status status =
      optimise::race(orders.value().program, microbatches(), asked_.times, options, result);
  if (!status.ok()) return spec::failure(status.message());
  auto pick = picked_dispatch(claim, orders.value(), result, asked_.times, comments_);
  if (!pick.ok()) return pick.errors();
  raced_ = Raced{.orders = std::move(orders).value(),
                 .result = std::move(result),
                 .pick = std::move(pick).value()};
  return {};
}

simulate::ReportedRun BestOrder::run() const {
  const Certified& made = *certified_;
  return {made.program, made.facts.facts(), microbatches(), made.timing, made.run, made.record};
}

const std::string& BestOrder::text() const {
  return raced_ ? raced_->pick.text : every_count_ ? *every_count_ : certified_->text;
}

bool BestOrder::has_actions() const {
  return (!raced_ || raced_->pick.in_order) &&
         pytorch::has_actions(certified_->program, microbatches());
}

std::string BestOrder::what_binds() const {
  const bool is_reached = search_.best_value() == search_.bound().value;
  return optimise::what_binds(*search_.bounding().problem, search_.bound(), is_reached);
}

std::string BestOrder::report(bool interrupted) const {
  std::string text;
  if (interrupted) {
    text = fmt::format(
        "interrupted after {:.1f} s{}\n", search_.seconds(),
        options_.races && !raced_ ? ", before all were compared: the best order stays" : "");
  }
  const Claim claim = this->claim();
  text += fmt::format("{}\n{}{}", fmt::join(found_, "\n"), what_binds(),
                      bounds_beside(asked_, claim.problem, claim.bound));
  text += "proved for every timing; the simulator gives the same wall and span\n";
  if (options_.every_count) {
    text += every_count_
                ? "what is written is proved for other numbers of microbatches too\n"
                : "it is for this number of microbatches alone: no part of it repeats with one "
                  "microbatch a turn, or that is not proved for every number\n";
  }
  if (raced_) text += race_text(raced_->orders.program, raced_->result);
  return text;
}

nlohmann::json BestOrder::json(const ModelOptions& options) const {
  const ReportedSearch reported{asked_, search_, own_, own_stays_, options_.seed, options};
  if (!certified_) return search_json(reported);
  nlohmann::json j = search_json(reported, run());
  if (raced_) {
    j["race"] = race_json(raced_->orders.program, raced_->result);
    j["dispatch"] = raced_->pick.dispatch;
  }
  return j;
}

}  // namespace ripeline::optimise
