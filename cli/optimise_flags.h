// The flags of `ripeline optimise`.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "cli/picture_flags.h"
#include "load/program.h"
#include "load/times.h"
#include "optimise/model_options.h"
#include "optimise/racing/race.h"

namespace ripeline::cli {

struct OptimiseFlags {
  std::string file;  // if empty, flags or the layers of a profile describe a model
  load::ProgramOptions program;
  std::optional<load::Counts> microbatches;
  load::TimeOptions times;
  optimise::ModelOptions model;  // without the microbatches and times, which are above
  double seconds = 10;
  bool solver = true;
  int threads = 2;
  bool given = false;  // --orders given
  std::optional<int> seeds;
  std::optional<int> quantile;  // in percent
  bool every_count = false;
  std::string output;
  PictureFlags picture;
  std::string format = "text";
};
// `flags` must outlive the command.
void add_optimise_flags(CLI::App& command, OptimiseFlags& flags);

// Returns the race options that the flags determine; `judge` and `go_on` keep their defaults.
[[nodiscard]] optimise::RaceOptions race_options(const OptimiseFlags& flags);

}  // namespace ripeline::cli
