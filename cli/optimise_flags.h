// The flags of `ripeline optimise`.
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "cli/picture_flags.h"
#include "load/search.h"

namespace ripeline::cli {

struct OptimiseFlags {
  load::SearchOptions search;
  bool given = false;  // --orders given
  std::string output;
  PictureFlags picture;
  std::string format = "text";
};
// `flags` must outlive the command.
void add_optimise_flags(CLI::App& command, OptimiseFlags& flags);

}  // namespace ripeline::cli
