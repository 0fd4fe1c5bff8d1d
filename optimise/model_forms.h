// The forms of a model that are searched: its placements, and the best cuts of its layers on each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "optimise/forms.h"
#include "optimise/placed_model.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"

namespace ripeline::optimise {

// The forms, and what a report says of them.
struct ModelForms {
  std::vector<Form> forms;    // not empty
  std::vector<double> parts;  // per form, by parts_of(); for a program that is given 1
  // `costs 24,23,12,1`; empty: a program is given, and no model
  std::string model;
  // For a profile of layers, per form: the first layer of each stage. Otherwise empty.
  std::vector<std::vector<int>> first_layers;
  bool is_cut = false;  // a stage has more than one layer, so that there are several cuts
  Bound other_cuts;     // no order of a cut that is not among the forms is below it

  [[nodiscard]] std::size_t index_of(const Form& form) const {
    return static_cast<std::size_t>(&form - forms.data());
  }
};

// chain, loop of 2, v
[[nodiscard]] std::string name_of(PlacedModel::Placement placement, int chunks);

// Adds the best cuts of the model, which has its placement and layers and no cut yet, with the
// means of the times. `of_profile`: the layers are those of a profile. Errors: the model's program
// does not compile, or is none of Problem.
[[nodiscard]] spec::Result<void> add_forms(const PlacedModel& model, bool of_profile,
                                           const simulate::TimingOptions& times,
                                           Objective objective, ModelForms& all);

}  // namespace ripeline::optimise
