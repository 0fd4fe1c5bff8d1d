// The flags of `ripeline optimise`.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "cli/optimised.h"
#include "cli/picture_flags.h"
#include "optimise/racing/race.h"

namespace ripeline::cli {

struct OptimiseFlags {
  OptimisedFlags what;
  double seconds = 10;
  bool solver = true;
  int threads = 2;
  bool given = false;  // --orders
  std::optional<int> seeds;
  std::optional<int> quantile;  // in percent
  bool every_count = false;
  std::string output;
  PictureFlags picture;
  std::string format = "text";
};
// `flags` are the command's and outlive it.
void add_optimise_flags(CLI::App& command, OptimiseFlags& flags);

// The options of a race that the flags give: all but its judge and its stop.
[[nodiscard]] optimise::RaceOptions race_options(const OptimiseFlags& flags);

}  // namespace ripeline::cli
