// A model of layers, described by options. forms_of() makes the input of a search from the options.
//
// Amounts are texts, as users write them (simulate/amount.h). Errors name the options by their
// names on the command line. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimise/model_forms.h"
#include "optimise/uniform.h"
#include "pytorch/lower.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"

namespace ripeline::optimise {

// A member that is empty or nullopt is not given; its default is in brackets.
struct ModelOptions {
  std::optional<int> ranks = {};             // (4)
  std::optional<int> microbatches = {};      // (8)
  std::vector<std::string> costs = {};       // as read_even_costs() takes them (1,1,1,0)
  std::string memory = {};                   // for a rank (as many microbatches as ranks)
  std::vector<std::string> activation = {};  // per microbatch, and the part that is left after I
  std::vector<pytorch::Placement> placements = {};  // (chain); if several, loops have 2 to 4 chunks
  std::optional<int> chunks = {};                   // stages per rank of the placement loop (2)
  std::string profile = {};  // the file of the profile in `times`; its stages are layers
  simulate::TimingOptions times = {};
  Objective objective = Objective::makespan;

  // Whether some option is given that only makes sense for a model, not for a program.
  [[nodiscard]] bool describes_model() const;
};
// The costs that are given, or else the default costs.
[[nodiscard]] std::vector<std::string> costs_of(const ModelOptions& options);

// Makes the model's forms. Their times are those of the options, completed by costs or profile.
[[nodiscard]] spec::Result<ModelForms> forms_of(const ModelOptions& options);

}  // namespace ripeline::optimise
