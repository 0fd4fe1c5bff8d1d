// The costs of a model's layers: from the flag --costs for layers that are all alike, or layer by
// layer from a profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimise/placed_model.h"
#include "simulate/profile.h"
#include "spec/diagnostics.h"
#include "spec/expr.h"
#include "trace/about.h"

namespace ripeline::optimise {

struct EvenCosts {
  PlacedModel::Costs of_rank;
  spec::Rational latency{0, 1};
  bool whole_backward = false;
};
// Costs are in `unit`; if that is nullopt, it becomes the unit of the texts, as with use_unit().
[[nodiscard]] spec::Result<EvenCosts> read_even_costs(const std::vector<std::string>& texts,
                                                      std::optional<trace::Unit>& unit);

// Whether the profile has B, and neither I nor W.
[[nodiscard]] bool has_whole_backwards(const simulate::Profile& profile);
// The costs of a profile's layers, in the order of the layers' numbers and in the profile's unit.
// They are rounded to nanoseconds.
[[nodiscard]] spec::Result<std::vector<PlacedModel::Costs>> read_layers(
    const simulate::Profile& profile, const std::string& file);
// The latency given for all links, else the mean of the profile's links; nullopt if it has none.
[[nodiscard]] std::optional<double> latency_of(const simulate::Profile& profile);
// Names the parts of a profile that are ignored if its stages are layers; empty if there are none.
[[nodiscard]] std::string left_out_of_profile(const simulate::Profile& profile);

}  // namespace ripeline::optimise
