// SolverThreads: runs the solver beside a search. The solver starts from the best known order, and
// looks for better orders and for lower bounds.
//
// One thread proves bounds and the others find orders; a single thread does both in turn. A small
// model is solved as a whole, repeatedly and with more time. For a large model, bounds are proved
// for shorter steps and added up (optimise/part_bounds.h) until the steps are too hard, and orders
// are found by solving parts of the best order again. If the model is not even or leaves something
// out, nothing is proved. Each thread runs a solver process. All calls must come from one thread.
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
  // The problem must outlive this object; `threads` must be above 0.
  SolverThreads(const Problem& problem, int threads, std::uint64_t seed);
  ~SolverThreads();  // stops the solver
  SolverThreads(const SolverThreads&) = delete;
  SolverThreads& operator=(const SolverThreads&) = delete;

  // Tells the solver of an order that was found elsewhere.
  void offer(const TimedOrder& order);
  // Returns the solver's latest order that beats all known orders; nullopt if it was taken already.
  [[nodiscard]] std::optional<TimedOrder> take();
  // The best bound that the solver has proved; it never falls. Its value is 0 if none is known.
  [[nodiscard]] Bound bound() const;
  // Says why there is no solver; empty if there is one.
  [[nodiscard]] std::string why() const;
  // Whether all threads have ended, since there is no better order, no order at all or no solver.
  [[nodiscard]] bool is_over() const { return running_ == 0; }

 private:
  struct Known {
    std::optional<TimedOrder> best;
    Time bound = 0;
  };
  // The share of the work that one thread does.
  struct Duty {
    bool finds = false;
    bool proves = false;
    int workers = 1;  // the solver's own threads, for finding
    int number = 0;
  };

  void run(const Duty& duty);
  [[nodiscard]] Known known() const;
  // Each of these returns false if all threads must end (no solver, no order or no better order).
  bool prove(const Known& known, int turn);
  bool prove(const Known& known, const PartBounds::Part& part);
  bool find(const Known& known, const Duty& duty, int turn);
  [[nodiscard]] bool is_small() const;
  void set_window(const TimedOrder& best, std::uint64_t seed, SolveRequest& request) const;
  [[nodiscard]] SolveRequest request(const Known& known) const;
  // Stores an answer's order and bound. False if there is no solver, no order, or no better order.
  [[nodiscard]] bool take_in(const SolveRequest& request, const SolveAnswer& answer);
  [[nodiscard]] bool is_available(const SolveAnswer& answer);
  void raise(Time bound, Formula formula);

  const Problem& problem_;
  std::uint64_t seed_;
  Time exact_ = 1;                   // a divisor of all times
  Time coarse_ = 1;                  // a divisor with which a task takes a few tens
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
