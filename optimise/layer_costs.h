// The costs of a model's layers, from --costs if all layers are alike, or layer by layer from a
// profile.
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
// Reads costs in `unit`. If `unit` is nullopt, the texts' unit is stored there, as in use_unit().
[[nodiscard]] spec::Result<EvenCosts> read_even_costs(const std::vector<std::string>& texts,
                                                      std::optional<trace::Unit>& unit);

// Whether the profile has costs of B, and of neither I nor W.
[[nodiscard]] bool has_whole_backwards(const simulate::Profile& profile);
// The costs of a profile's layers, sorted by layer number, in the profile's unit. They are rounded
// to nanoseconds.
[[nodiscard]] spec::Result<std::vector<PlacedModel::Costs>> read_layers(
    const simulate::Profile& profile, const std::string& file);
// The profile's latency for all links, or else the mean over its links; nullopt if it has neither.
[[nodiscard]] std::optional<double> latency_of(const simulate::Profile& profile);
// Names the parts of a profile that are ignored if its stages are layers; empty if none is ignored.
[[nodiscard]] std::string left_out_of_profile(const simulate::Profile& profile);

}  // namespace ripeline::optimise
