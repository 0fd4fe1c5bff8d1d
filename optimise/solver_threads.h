// The solver at work beside a search: it begins with the best order that is known, looks for better
// ones, and shows what none is below.
//
// One thread proves and the others find; a single one takes turns. A small model is solved whole,
// again and again with more time. Of a large one shorter steps are solved, whose bounds add up
// (optimise/part_bounds.h), until they are too hard; and better orders are found by solving parts
// of the order anew. Of a model that is not even, or leaves something out, nothing is proved. The
// solver has a process for each thread here; all members may be called from one other thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "optimise/part_bounds.h"
#include "optimise/problem.h"
#include "optimise/solver/solver.h"

namespace ripeline::optimise {

class SolverThreads {
 public:
  // The problem must outlive it; threads > 0.
  SolverThreads(const Problem& problem, int threads, std::uint64_t seed);
  ~SolverThreads();  // stops the solver
  SolverThreads(const SolverThreads&) = delete;
  SolverThreads& operator=(const SolverThreads&) = delete;

  // An order that others have found.
  void tell(const Found& order);
  // One that the solver has found, better than all that it was told; each once.
  [[nodiscard]] std::optional<Found> take();
  // No order is below it; a value of 0: nothing is known. It only grows.
  [[nodiscard]] Bound bound() const;
  // Why there is no solver; empty: there is.
  [[nodiscard]] std::string why() const;
  // It has nothing left to do: no order is better, or there is none, or there is no solver.
  [[nodiscard]] bool is_over() const { return running_ == 0; }

 private:
  struct Known {
    std::optional<Found> best;
    Time bound = 0;
  };
  // How the threads share the work.
  struct Duty {
    bool finds = false;
    bool proves = false;
    int workers = 1;  // the solver's, to find
    int number = 0;
  };

  void run(const Duty& duty);
  [[nodiscard]] Known known() const;
  // False: there is no order, or no solver.
  bool prove(const Known& known, int turn);
  bool prove(const Known& known, const PartBounds::Part& part);
  bool find(const Known& known, const Duty& duty, int turn);
  [[nodiscard]] bool is_small() const;
  void set_window(const Found& best, std::uint64_t seed, SolveRequest& request) const;
  [[nodiscard]] SolveRequest request(const Known& known) const;
  // False: there is no solver, no order, or no better one.
  [[nodiscard]] bool take_in(const SolveRequest& request, const SolveAnswer& answer);
  [[nodiscard]] bool is_available(const SolveAnswer& answer);
  void raise(Time bound, Formula formula);
  [[nodiscard]] Time value_of(const Found& order) const;

  const Problem& problem_;
  std::uint64_t seed_;
  Time exact_ = 1;                   // divides all times
  Time coarse_ = 1;                  // a few tens of it are a task
  std::optional<PartBounds> parts_;  // for the only thread that proves
  std::atomic<bool> stop_{false};
  std::atomic<int> running_{0};
  mutable std::mutex mutex_;
  Bound bound_;                 // guarded by mutex_, as the next three
  std::optional<Found> best_;   // the best that is known
  std::optional<Found> found_;  // not taken yet
  std::string why_;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace ripeline::optimise
