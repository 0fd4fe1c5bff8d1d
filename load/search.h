// A search for the best order: its options, which are the flags of `ripeline optimise`, and the
// inputs of optimise/best_order.h and optimise/memory_curve.h that these options describe.
//
// Errors name the options by their names on the command line. Functions read the profile's file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/counts.h"
#include "load/program.h"
#include "load/run.h"
#include "load/times.h"
#include "optimise/best_order.h"
#include "optimise/memory_curve.h"
#include "optimise/model_forms.h"
#include "optimise/model_options.h"
#include "optimise/racing/race.h"
#include "spec/diagnostics.h"

namespace ripeline::load {

struct SearchOptions {
  static constexpr int kMostRanks = 1024;
  static constexpr int kMostThreads = 256;
  static constexpr int kLeastSeeds = 2;
  static constexpr int kMostSeeds = 1'000'000;
  static constexpr int kMostQuantile = 99;

  std::string file = {};  // the program's name; if empty, options or a profile describe a model
  ProgramOptions program = {};
  std::optional<Counts> microbatches = {};
  TimeOptions times = {};
  optimise::ModelOptions model = {};  // without the microbatches and times, which are above
  double seconds = 10;                // for all of the search; of a curve, for each memory
  bool solver = true;
  int threads = 2;                   // for the solver
  std::optional<int> seeds = {};     // for a race
  std::optional<int> quantile = {};  // in percent, for a race
  bool every_count = false;

  // The model's options as reports print them.
  [[nodiscard]] optimise::ModelOptions reported_model() const;
};

// The forms of the model, or of a program that was loaded with of_step().
[[nodiscard]] spec::Result<optimise::ModelForms> forms_of_model(const SearchOptions& options);
[[nodiscard]] spec::Result<optimise::ModelForms> forms_of_program(const LoadedProgram& loaded,
                                                                  const SearchOptions& options);

// A program for one number of microbatches, and the times of its step.
struct SearchedStep {
  spec::Program program;
  int microbatches = 1;
  simulate::TimingOptions times = {};
};
[[nodiscard]] spec::Result<SearchedStep> step_of(const LoadedProgram& loaded,
                                                 const SearchOptions& options);

// Whether the order that is found races with others, since times vary. Fails if the options do not
// fit that.
[[nodiscard]] spec::Result<bool> decide_race(const SearchOptions& options,
                                             const optimise::ModelForms& forms, Notes& notes);
// The settings of a race, without its callbacks.
[[nodiscard]] optimise::RaceOptions race_options(const SearchOptions& options);

// Completes settings of a search that have a budget and callbacks.
[[nodiscard]] optimise::BestOrderOptions order_options(const SearchOptions& options,
                                                       const optimise::ModelForms& forms,
                                                       bool races, optimise::BestOrderOptions with);

// The curve of a model whose memory is a range; `with` has the callbacks. Fails for options that
// are of one memory.
[[nodiscard]] spec::Result<optimise::MemoryCurve> curve_of(const SearchOptions& options,
                                                           optimise::CurveOptions with);

}  // namespace ripeline::load
