// The input of `ripeline optimise`: a program, or a model of layers on one placement or several.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/microbatch_flag.h"
#include "cli/time_flags.h"
#include "optimise/model_forms.h"
#include "optimise/uniform.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"

namespace ripeline::cli {

enum class Placements : std::uint8_t { chain, loop, v, any };

struct OptimisedFlags {
  std::string file;  // empty: a model that the flags describe, or `times.profile` layer by layer
  std::vector<std::string> defines;
  std::string dispatch;
  std::optional<load::Counts> microbatches;
  TimeFlags times;
  optimise::Objective objective = optimise::Objective::wall;

  // The flags of such a model; nothing: not given.
  std::optional<int> ranks;
  std::vector<std::string> costs;
  std::string memory;
  std::vector<std::string> activation;
  std::optional<Placements> placement;  // also for a schedule of PyTorch
  std::optional<int> chunks;
};
void add_optimised(CLI::App& command, OptimisedFlags& flags);

struct Optimised : optimise::ModelForms {
  spec::ReadFile read_file;
  simulate::TimingOptions times;   // also what is drawn, of which the problems have the means
  std::string command;             // the arguments that give this again
  std::string flags;               // the flags with which `simulate` times it so
  std::vector<std::string> notes;  // for people: what is not as they may think
};
// A program and its step, for `--orders given`. Errors are on standard error already, also those of
// the next one.
struct GivenProgram {
  spec::Program program;  // for this count alone
  int microbatches = 1;
  simulate::TimingOptions times;
};
[[nodiscard]] spec::Result<GivenProgram> read_given(const OptimisedFlags& flags);
[[nodiscard]] spec::Result<Optimised> read_optimised(const OptimisedFlags& flags);

}  // namespace ripeline::cli
