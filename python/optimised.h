// Optimised and Curve: what `ripeline optimise` finds for one memory, and for a range of memories.
//
// Both are immutable, and thus usable in several threads at once. Their searches take seconds, and
// run threads and, with a solver, processes, which have ended when a function returns or throws. A
// search is long work (spec/long_work.h): if it is stopped, it throws, and its best order is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "load/search.h"
#include "load/times.h"
#include "optimise/memory_curve.h"
#include "python/program.h"
#include "python/simulated.h"
#include "simulate/timing.h"

namespace ripeline::python {

// The options of `ripeline optimise`, as the command line writes them.
struct Searching {
  std::optional<std::string> microbatches;
  load::TimeOptions times;
  std::string objective = "wall";
  std::string seconds = "10";
  bool solver = true;
  std::int64_t threads = 2;
  std::optional<std::int64_t> seeds;
  std::optional<std::int64_t> quantile;
  bool every_count = false;
  // The options of a model, which a program has not.
  std::optional<std::int64_t> ranks;
  std::vector<std::string> costs;
  std::string memory;
  std::vector<std::string> activation;
  std::optional<std::string> placement;
  std::optional<std::int64_t> chunks;
};

// Gets the time of the best order that a search found so far, in the run's unit, and the bound. For
// a curve, both are those of the memory that is searched; nullopt while that has no order.
using Finds = std::function<void(std::optional<double> best, std::optional<double> bound)>;

class Optimised {
 public:
  // Throws Failure for options that do not fit the program or the model.
  [[nodiscard]] static Optimised of_program(const Program& program, const Searching& searching,
                                            const Finds& finds);
  [[nodiscard]] static Optimised of_model(const Searching& searching, const Finds& finds);

  // The output of `ripeline optimise` as text and as JSON. If no order was found, the text says
  // why.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& json() const { return json_; }
  // Notes on the model, on a profile and on the search.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  // The next functions throw Failure if no order was found.
  //
  // The program that the command writes.
  [[nodiscard]] Program program() const;
  // The program that commits to the order, which has been run, and its run. It is another than
  // program() if a hint that follows the order won a race, or if program() is for every count.
  [[nodiscard]] Program order() const;
  [[nodiscard]] Simulated run() const;
  // The sentence on what limits the time.
  [[nodiscard]] std::string what_binds() const;

 private:
  struct Found {
    std::string program;
    std::string order;
    std::string what_binds;
    int microbatches = 1;
    simulate::TimingOptions times;
  };

  Optimised() = default;
  static Optimised searched(const load::SearchOptions& options, const optimise::Budget& budget,
                            const optimise::ModelForms& forms, const Finds& finds);
  [[nodiscard]] const Found& found() const;
  [[nodiscard]] Program written(const std::string& text) const;

  std::optional<Program> given_;  // the program that was searched
  std::string text_;
  std::string json_;
  std::vector<std::string> notes_;
  std::optional<Found> found_;
};

class Curve {
 public:
  // Searches for each memory of the range `searching.memory`. Throws Failure for options that do
  // not fit.
  Curve(const Searching& searching, const Finds& finds);

  // The output of `ripeline optimise --memory A..B`, as text, as JSON and as the picture.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  // Throws Failure if no memory has an order, and for a width out of bounds.
  [[nodiscard]] std::string svg(std::optional<int> width) const;
  [[nodiscard]] const std::vector<std::string>& notes() const { return curve_.notes; }

 private:
  optimise::MemoryCurve curve_;
};

}  // namespace ripeline::python
