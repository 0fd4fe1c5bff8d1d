// The solver at work beside a search: it begins with the best order that is known, looks for better
// ones, and shows what none is below.
//
// A model that is small is solved whole, again and again with more time; of a large one, parts of
// the order are solved anew. It has a thread of its own, and the solver a process; all members may
// be called from one other thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "optimise/problem.h"

namespace ripeline::optimise {

class SolverThread {
 public:
  // The problem must outlive it.
  SolverThread(const Problem& problem, int workers, std::uint64_t seed);
  ~SolverThread();  // stops the solver
  SolverThread(const SolverThread&) = delete;
  SolverThread& operator=(const SolverThread&) = delete;

  // An order that others have found.
  void tell(const Found& order);
  // One that the solver has found, better than all that it was told; each once.
  [[nodiscard]] std::optional<Found> take();
  // No order is below it; 0: nothing is known. It only grows.
  [[nodiscard]] Time bound() const { return bound_; }
  // Why there is no solver; empty: there is.
  [[nodiscard]] std::string why() const;
  // It has nothing left to do: no order is better, or there is none, or there is no solver.
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  struct Turn {
    std::vector<bool> is_free = {};
    Time scale = 1;
    bool rounds_down = false;
    bool is_hinted = true;
    double seconds = 1;
  };

  void run();
  [[nodiscard]] Turn next_turn(const std::optional<Found>& best);
  [[nodiscard]] Turn window(const Found& best);
  // False: there is no order, or no solver.
  bool solve_in(const Turn& turn, const std::optional<Found>& best);
  [[nodiscard]] Time value_of(const Found& order) const;
  [[nodiscard]] std::optional<Found> best() const;

  const Problem& problem_;
  int workers_;
  std::uint64_t seed_;
  Time exact_ = 1;   // divides all times
  Time coarse_ = 1;  // a few tens of it are a task
  int turns_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<Time> bound_{0};
  std::atomic<bool> over_{false};
  mutable std::mutex mutex_;
  std::optional<Found> best_;   // of all that is known; guarded, as the next two
  std::optional<Found> found_;  // not taken yet
  std::string why_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace ripeline::optimise
