// SolverThreads: runs the solver beside a search. The solver starts from the best known order, and
// looks for better orders and for lower bounds.
//
// One thread proves bounds and the others find orders; a single thread does both in turn. A small
// model is solved whole, again and again with more time. For a large model, bounds are proved for
// shorter steps and added up (optimise/part_bounds.h) until the steps are too hard, and orders are
// found by solving parts of the best one anew. Nothing is proved for a model that is not even or
// leaves something out. Each thread has a solver process. Call all members from one other thread.
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
  // The problem must outlive these threads; `threads` > 0.
  SolverThreads(const Problem& problem, int threads, std::uint64_t seed);
  ~SolverThreads();  // stops the solver
  SolverThreads(const SolverThreads&) = delete;
  SolverThreads& operator=(const SolverThreads&) = delete;

  // Takes in an order that was found elsewhere.
  void offer(const TimedOrder& order);
  // An order that the solver found, better than all known before, if it was not taken already.
  [[nodiscard]] std::optional<TimedOrder> take();
  // The best bound that the solver has proved; it only grows. Its value is 0 if there is none yet.
  [[nodiscard]] Bound bound() const;
  // Why there is no solver; empty if there is one.
  [[nodiscard]] std::string why() const;
  // True once no thread runs: no order is better, there is no order, or there is no solver.
  [[nodiscard]] bool is_over() const { return running_ == 0; }

 private:
  struct Known {
    std::optional<TimedOrder> best;
    Time bound = 0;
  };
  // How the threads share the work.
  struct Duty {
    bool finds = false;
    bool proves = false;
    int workers = 1;  // the solver's own threads, for finding
    int number = 0;
  };

  void run(const Duty& duty);
  [[nodiscard]] Known known() const;
  // Each of these returns false if the thread must end: no order exists, or no solver.
  bool prove(const Known& known, int turn);
  bool prove(const Known& known, const PartBounds::Part& part);
  bool find(const Known& known, const Duty& duty, int turn);
  [[nodiscard]] bool is_small() const;
  void set_window(const TimedOrder& best, std::uint64_t seed, SolveRequest& request) const;
  [[nodiscard]] SolveRequest request(const Known& known) const;
  // Takes in an answer. False if there is no solver, no order, or no better order.
  [[nodiscard]] bool take_in(const SolveRequest& request, const SolveAnswer& answer);
  [[nodiscard]] bool is_available(const SolveAnswer& answer);
  void raise(Time bound, Formula formula);

  const Problem& problem_;
  std::uint64_t seed_;
  Time exact_ = 1;                   // a divisor of all times
  Time coarse_ = 1;                  // a unit of which a task takes a few tens
  std::optional<PartBounds> parts_;  // for the only thread that proves
  std::atomic<bool> stop_{false};
  std::atomic<int> running_{0};
  mutable std::mutex mutex_;
  Bound bound_;                      // guarded by mutex_, as are the next three
  std::optional<TimedOrder> best_;   // the best that is known
  std::optional<TimedOrder> found_;  // the solver's order, until take()
  std::string why_;
  std::vector<std::thread> threads_;  // declared last, since they use the other members
};

}  // namespace ripeline::optimise
