#include "optimise/solver_threads.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "optimise/search/random.h"
#include "optimise/solver/divisor.h"

namespace ripeline::optimise {
namespace {

constexpr int kMostWhole = 800;      // the most tasks of a model that is solved whole
constexpr int kFreeTasks = 250;      // about as many tasks are free in a window
constexpr Time kFine = 200;          // the largest mean length of a task with exact times
constexpr Time kLeastRounded = 30;   // the least mean length of a task with rounded times
constexpr Time kMostRounded = 150;   // the largest such mean length
constexpr double kFirstTurn = 2;     // seconds
constexpr double kLongestTurn = 60;  // seconds, as the next two
constexpr double kWindowTurn = 2;
constexpr double kPartTurn = 4;

// The order restricted to `count` microbatches, from microbatch `first` on.
Rows rows_of(const Rows& rows, int lanes, int first, int count) {
  Rows some;
  std::vector<int> next(static_cast<std::size_t>(lanes), 0);
  for (const std::vector<int>& row : rows) {
    some.emplace_back();
    for (const int lane : row) {
      const int microbatch = at(next, lane)++;
      if (microbatch >= first && microbatch < first + count) some.back().push_back(lane);
    }
  }
  return some;
}

double seconds_of(int turn) {
  return std::min(kLongestTurn, kFirstTurn * std::pow(3., std::min(turn, 8)));
}

}  // namespace

SolverThreads::SolverThreads(const Problem& problem, int threads, std::uint64_t seed)
    : problem_(problem), seed_(seed) {
  const Model& model = problem.model();
  exact_ = common_divisor(model);
  const std::unique_ptr<Problem> one = problem.of_length(1);
  coarse_ = divisor_of(one ? one->model() : model, kLeastRounded, kMostRounded, kFine);
  if (one && !is_small() && problem.objective() == Objective::makespan) {
    parts_ = PartBounds::of(one->model(), problem.microbatches());
  }
  const bool proves = model.even && !model.left_out;
  std::vector<Duty> duties;
  if (threads == 1) {
    duties.push_back({.finds = true, .proves = proves});
  } else {
    if (proves) duties.push_back({.proves = true});
    const int left = threads - (proves ? 1 : 0);
    // A large model is solved in windows, which are solved quickly even with one worker each.
    const int finders = is_small() ? 1 : left;
    for (int k = 0; k < finders; ++k) {
      duties.push_back({.finds = true, .workers = left / finders, .number = k + 1});
    }
  }
  running_ = size_of(duties);
  for (const Duty& duty : duties) threads_.emplace_back([this, duty] { run(duty); });
}

SolverThreads::~SolverThreads() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void SolverThreads::offer(const TimedOrder& order) {
  const std::lock_guard lock(mutex_);
  if (!best_ || problem_.value_of(order) < problem_.value_of(*best_)) best_ = order;
}

std::optional<TimedOrder> SolverThreads::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, std::nullopt);
}

std::string SolverThreads::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

Bound SolverThreads::bound() const {
  const std::lock_guard lock(mutex_);
  return bound_;
}

SolverThreads::Known SolverThreads::known() const {
  const std::lock_guard lock(mutex_);
  return {best_, std::max(bound_.value, problem_.bound().value)};
}

bool SolverThreads::is_small() const { return problem_.model().tasks() <= kMostWhole; }

void SolverThreads::run(const Duty& duty) {
  for (int turn = 0; !stop_; ++turn) {
    const Known now = known();
    if (now.best && problem_.value_of(*now.best) <= now.bound) break;
    const bool proves = duty.proves && (!duty.finds || turn % 2 == 1);
    const auto part = proves && parts_ ? parts_->next() : std::nullopt;
    if (!duty.finds && !part && !is_small()) {
      // The search makes better use of the processor than another thread that solves windows.
      --running_;
      return;
    }
    const int own = duty.finds && duty.proves ? turn / 2 : turn;
    const bool goes_on = part                   ? prove(now, *part)
                         : proves && is_small() ? prove(now, own)
                                                : find(now, duty, own);
    if (!goes_on) break;
  }
  stop_ = true;
  --running_;
}

SolveRequest SolverThreads::request(const Known& known) const {
  return {.model = problem_.model(),
          .objective = problem_.objective(),
          .hint = known.best && starts_of(problem_.model(), known.best->rows) ? &known.best->rows
                                                                              : nullptr,
          .scale = coarse_,
          .bound = known.bound,
          .go_on = [this] { return !stop_; },
          .is_abandoned = true};
}

bool SolverThreads::prove(const Known& known, int turn) {
  SolveRequest request = this->request(known);
  request.proves = request.rounds_down = true;
  // The duration of a proof depends strongly on its start. So a proof is tried with and without a
  // hint, with rounded and with exact times; each variant gets more time in the next round.
  if (turn / 2 % 2 == 1) request.scale = exact_;
  if (turn % 2 == 1) request.hint = nullptr;
  request.seconds = seconds_of(turn / (coarse_ == exact_ ? 2 : 4));
  request.seed = seed_ + static_cast<std::uint64_t>(turn);
  return take_in(request, optimise::solve(request));
}

bool SolverThreads::find(const Known& known, const Duty& duty, int turn) {
  SolveRequest request = this->request(known);
  const auto number = static_cast<std::uint64_t>(turn * 64 + duty.number);
  request.seed = seed_ + number;
  if (known.best && !is_small()) {
    set_window(*known.best, request.seed, request);
  } else {
    // Without the known order as a hint, an order of another kind may be found sooner.
    if (turn == 0) request.hint = nullptr;
    request.workers = duty.workers;
    request.seconds = seconds_of(turn);
  }
  return take_in(request, optimise::solve(request));
}

// Lets the solver move only the tasks in a random window of time, about kFreeTasks tasks.
void SolverThreads::set_window(const TimedOrder& best, std::uint64_t seed,
                               SolveRequest& request) const {
  const Model& model = problem_.model();
  Random random(seed * 7919);
  request.seconds = kWindowTurn;
  const auto starts = starts_of(model, best.rows);
  if (!starts) return;
  const double part = std::min(1., static_cast<double>(kFreeTasks) / model.tasks());
  const auto length = static_cast<Time>(part * static_cast<double>(best.makespan));
  const auto share = static_cast<double>(random.draw(1U << 20U)) / (1U << 20U);
  const auto from = static_cast<Time>(share * static_cast<double>(best.makespan)) - length / 2;
  request.is_free = tasks_within(model, *starts, from, from + length);
}

bool SolverThreads::take_in(const SolveRequest& request, const SolveAnswer& answer) {
  if (!is_available(answer) || answer.status == SolveAnswer::Status::infeasible) return false;
  // If the model is not even, an order with a lane's tasks out of turn might beat the bound.
  if (answer.bound && problem_.model().even) raise(*answer.bound, Formula::solver);
  const bool is_last = answer.status == SolveAnswer::Status::optimal && request.is_free.empty() &&
                       request.scale == exact_ && problem_.objective() == Objective::makespan &&
                       !problem_.model().left_out;
  if (!answer.rows) return !is_last;
  const auto found = problem_.timed(*answer.rows);
  if (!found || !problem_.is_safe(*answer.rows)) return true;
  const std::lock_guard lock(mutex_);
  if (!best_ || problem_.value_of(*found) < problem_.value_of(*best_)) best_ = found_ = found;
  return !is_last;
}

bool SolverThreads::prove(const Known& known, const PartBounds::Part& part) {
  const int microbatches = part.microbatches + (part.is_last ? 0 : 1);
  const auto shorter = problem_.of_length(microbatches);
  if (!shorter || !PartBounds::are_alike(shorter->model(), problem_.model())) {
    parts_.reset();
    return true;
  }
  const Model& model = shorter->model();
  Rows rows;
  if (known.best) {
    const int first = part.is_last ? problem_.microbatches() - microbatches : 0;
    rows = rows_of(known.best->rows, size_of(model.lanes), first, microbatches);
  }
  SolveRequest request{
      .model = model, .scale = coarse_, .go_on = [this] { return !stop_; }, .is_abandoned = true};
  if (!part.is_last) request.entry = at(model.lanes, parts_->entry()).first + part.microbatches;
  request.proves = request.rounds_down = true;
  // A proof's duration depends strongly on its start, so every other attempt has a hint.
  if (part.attempt % 2 == 0 && starts_of(model, rows)) request.hint = &rows;
  request.seconds = kPartTurn * std::pow(3., part.attempt);
  request.seed = seed_ + static_cast<std::uint64_t>(part.attempt);
  const SolveAnswer answer = optimise::solve(request);
  if (!is_available(answer) || answer.status == SolveAnswer::Status::infeasible) return false;
  parts_->set(part, answer.bound.value_or(0), answer.status == SolveAnswer::Status::optimal);
  raise(parts_->bound(), Formula::solver_of_parts);
  return true;
}

bool SolverThreads::is_available(const SolveAnswer& answer) {
  if (answer.status != SolveAnswer::Status::unavailable) return true;
  const std::lock_guard lock(mutex_);
  why_ = answer.why;
  return false;
}

void SolverThreads::raise(Time bound, Formula formula) {
  const std::lock_guard lock(mutex_);
  if (bound > std::max(bound_.value, problem_.bound().value)) {
    bound_ = {bound, std::string(name_of(formula)), formula};
  }
}

}  // namespace ripeline::optimise
