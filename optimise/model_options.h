// A model of layers, described by options. forms_of() turns these into the input of a search.
//
// Amounts are texts, as users write them (simulate/amount.h). Errors name the options as the
// command line does. Pure.
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

// An empty member is not given; its usual value is in brackets.
struct ModelOptions {
  std::optional<int> ranks = {};             // (4)
  std::optional<int> microbatches = {};      // (8)
  std::vector<std::string> costs = {};       // as read_even_costs() takes them (1,1,1,0)
  std::string memory = {};                   // a rank's (as many microbatches as ranks)
  std::vector<std::string> activation = {};  // a microbatch's, and the part that is left after I
  std::vector<pytorch::Placement> placements = {};  // (chain); several mean loops of 2 to 4, too
  std::optional<int> chunks = {};                   // stages on a rank, for a loop alone (2)
  std::string profile = {};  // the file of the profile in `times`; its stages are layers
  simulate::TimingOptions times = {};
  Objective objective = Objective::makespan;

  // Whether an option is given that only a model can have, and not a program.
  [[nodiscard]] bool describes_model() const;
};
// The costs that are given, or the usual ones.
[[nodiscard]] std::vector<std::string> costs_of(const ModelOptions& options);

// The times of the result are those of the options, completed by the costs or the profile.
[[nodiscard]] spec::Result<ModelForms> forms_of(const ModelOptions& options);

}  // namespace ripeline::optimise
