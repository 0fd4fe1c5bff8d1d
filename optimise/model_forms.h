// The forms of a model that are searched: its placements, and the best cuts of its layers on each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimise/forms.h"
#include "optimise/placed_model.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/elaborate.h"
#include "spec/program.h"

namespace ripeline::optimise {

// The forms, and the data of a report on them.
struct ModelForms {
  std::vector<Form> forms;    // not empty
  std::vector<double> parts;  // per form, by parts_of(); 1 for a given program
  // The model as text, such as `costs 24,23,12,1`; empty if the user gave a program, not a model.
  std::string model;
  // Per form, the first layer of each stage. Empty unless a profile of layers is given.
  std::vector<std::vector<int>> first_layers;
  bool is_cut = false;            // a stage has more than one layer, so that there are several cuts
  Bound other_cuts;               // a bound for all cuts that are not among the forms
  spec::ReadFile read_file;       // as in ElaborateOptions, for the forms' sources
  simulate::TimingOptions times;  // with drawn times; the problems use the mean times
  std::vector<std::string> notes;  // assumptions that may surprise users

  [[nodiscard]] std::size_t index_of(const Form& form) const {
    return static_cast<std::size_t>(&form - forms.data());
  }
  // Whether times of tasks or messages vary, so that a race of orders makes sense.
  [[nodiscard]] bool varies() const;
};

// The name of a form, such as `chain`, `loop of 2` or `v`.
[[nodiscard]] std::string name_of(pytorch::Placement placement, int chunks);

inline constexpr std::int64_t kMostTasks = 1'000'000;  // a form with more is not searched

// Adds forms for the best cuts of the model, whose placement and layers are set, but not its cut.
// Problems use mean times. `of_profile` says that the layers come from a profile. Fails if a cut's
// program does not compile, or if Problem::make() fails.
[[nodiscard]] spec::Result<void> add_forms(const PlacedModel& model, bool of_profile,
                                           Objective objective, ModelForms& all);

// Makes the only form of a program that was compiled from `source`, for this microbatch count.
[[nodiscard]] spec::Result<ModelForms> forms_of(spec::Program program, int microbatches,
                                                const spec::Source& source,
                                                const spec::ReadFile& read_file,
                                                const simulate::TimingOptions& times,
                                                Objective objective);

}  // namespace ripeline::optimise
