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
  // Such as `costs 24,23,12,1`; empty if the user gave a program and not a model.
  std::string model;
  // The first layer of each stage, per form, if a profile of layers is given; otherwise empty.
  std::vector<std::vector<int>> first_layers;
  bool is_cut = false;            // a stage has more than one layer, so that there are several cuts
  Bound other_cuts;               // no order of a cut that is not among the forms is below it
  spec::ReadFile read_file;       // as in ElaborateOptions, for the forms' sources
  simulate::TimingOptions times;  // including what is drawn; the problems use the means
  std::vector<std::string> notes;  // for people: assumptions that may surprise them

  [[nodiscard]] std::size_t index_of(const Form& form) const {
    return static_cast<std::size_t>(&form - forms.data());
  }
  // Whether tasks or messages vary, so that orders may race.
  [[nodiscard]] bool varies() const;
};

// The name of a form, such as `chain`, `loop of 2` or `v`.
[[nodiscard]] std::string name_of(pytorch::Placement placement, int chunks);

inline constexpr std::int64_t kMostTasks = 1'000'000;  // a form with more is not searched

// Adds forms for the best cuts of the model, which has a placement and layers and no cut yet, with
// the means of the times. `of_profile` says that the layers are those of a profile. Fails if the
// model's program does not compile, or if Problem::make() refuses it.
[[nodiscard]] spec::Result<void> add_forms(const PlacedModel& model, bool of_profile,
                                           Objective objective, ModelForms& all);

// The only form of a program that was compiled from `source`, for this count of microbatches.
[[nodiscard]] spec::Result<ModelForms> forms_of(spec::Program program, int microbatches,
                                                const spec::Source& source,
                                                const spec::ReadFile& read_file,
                                                const simulate::TimingOptions& times,
                                                Objective objective);

}  // namespace ripeline::optimise
