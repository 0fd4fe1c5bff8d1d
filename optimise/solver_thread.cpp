#include "optimise/solver_thread.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "optimise/search/random.h"
#include "optimise/solver/solver.h"

namespace ripeline::optimise {
namespace {

constexpr int kMostWhole = 800;      // tasks of a model that is solved whole
constexpr int kFreeTasks = 250;      // of a part
constexpr Time kFine = 200;          // a task's mean length that is short enough to be exact
constexpr Time kRounded = 40;        // of a task, when times are rounded
constexpr double kFirstTurn = 2;     // seconds
constexpr double kLongestTurn = 60;  // as the next one
constexpr double kWindowTurn = 2;

}  // namespace

SolverThread::SolverThread(const Problem& problem, int workers, std::uint64_t seed)
    : problem_(problem), workers_(workers), seed_(seed) {
  const Model& model = problem.model();
  Time sum = 0;
  for (const Time takes : model.takes) sum += takes;
  const Time mean = std::max<Time>(1, sum / std::max(1, model.tasks()));
  exact_ = common_divisor(model);
  coarse_ = mean / exact_ <= kFine ? exact_ : std::max<Time>(1, mean / kRounded);
  thread_ = std::thread([this] { run(); });
}

SolverThread::~SolverThread() {
  stop_ = true;
  thread_.join();
}

void SolverThread::tell(const Found& order) {
  const std::lock_guard lock(mutex_);
  if (!best_ || value_of(order) < value_of(*best_)) best_ = order;
}

std::optional<Found> SolverThread::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, std::nullopt);
}

std::string SolverThread::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

std::optional<Found> SolverThread::best() const {
  const std::lock_guard lock(mutex_);
  return best_;
}

Time SolverThread::value_of(const Found& order) const {
  return problem_.objective() == Objective::wall ? order.wall : order.span;
}

void SolverThread::run() {
  while (!stop_) {
    const std::optional<Found> known = best();
    if (known && value_of(*known) <= std::max<Time>(bound_, problem_.bound().value)) break;
    if (!solve_in(next_turn(known), known)) break;
  }
  over_ = true;
}

SolverThread::Turn SolverThread::next_turn(const std::optional<Found>& best) {
  const int turn = turns_++;
  const bool whole = problem_.model().tasks() <= kMostWhole || !best;
  if (!whole) return window(*best);
  // An order of another kind may be found sooner without the one that is known.
  if (turn == 0)
    return {.is_free = {},
            .scale = coarse_,
            .rounds_down = false,
            .is_hinted = false,
            .seconds = kFirstTurn};
  // Rounded times find orders, and rounded down they show what none is below.
  const bool down = coarse_ == exact_ || turn % 2 == 1;
  const int longer = coarse_ == exact_ ? turn : turn / 2;
  return {.is_free = {},
          .scale = coarse_,
          .rounds_down = down,
          .seconds = std::min(kLongestTurn, kFirstTurn * std::pow(3., std::min(longer, 8)))};
}

// A part of the time, in which about as many tasks run as a turn can put in order anew.
SolverThread::Turn SolverThread::window(const Found& best) {
  const Model& model = problem_.model();
  Random random(seed_ * 7919 + static_cast<std::uint64_t>(turns_));
  Turn turn{.is_free = {}, .scale = coarse_, .rounds_down = false, .seconds = kWindowTurn};
  const auto starts = starts_of(model, best.rows);
  if (!starts) return turn;
  const double part = std::min(1., static_cast<double>(kFreeTasks) / model.tasks());
  const auto length = static_cast<Time>(part * static_cast<double>(best.wall));
  const auto share = static_cast<double>(random.draw(1U << 20U)) / (1U << 20U);
  const auto from = static_cast<Time>(share * static_cast<double>(best.wall)) - length / 2;
  turn.is_free = tasks_within(model, *starts, from, from + length);
  return turn;
}

bool SolverThread::solve_in(const Turn& turn, const std::optional<Found>& best) {
  const Model& model = problem_.model();
  const SolveAnswer answer =
      solve({.model = model,
             .objective = problem_.objective(),
             .hint = turn.is_hinted && best && starts_of(model, best->rows) ? &best->rows : nullptr,
             .is_free = turn.is_free,
             .scale = turn.scale,
             .rounds_down = turn.rounds_down,
             .seconds = turn.seconds,
             .workers = turn.is_free.empty() ? workers_ : 1,  // a part is solved at once
             .seed = seed_ + static_cast<std::uint64_t>(turns_),
             .bound = std::max<Time>(bound_, problem_.bound().value),
             .go_on = [this] { return !stop_; }});
  if (answer.status == SolveAnswer::Status::unavailable) {
    const std::lock_guard lock(mutex_);
    why_ = answer.why;
    return false;
  }
  if (answer.status == SolveAnswer::Status::infeasible) return false;
  // In a model that is not even, lanes whose tasks do not have their turns might be faster.
  if (answer.bound && model.even) bound_ = std::max<Time>(bound_, *answer.bound);
  if (!answer.rows) return true;
  const auto found = problem_.timed(*answer.rows);
  if (!found || !problem_.is_safe(*answer.rows)) return true;
  const std::lock_guard lock(mutex_);
  if (best_ && value_of(*best_) <= value_of(*found)) return true;
  best_ = found_ = found;
  return true;
}

}  // namespace ripeline::optimise
