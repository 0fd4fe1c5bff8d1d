// The costs of a model's layers: by the flag --costs of layers that are all alike, or layer by
// layer by a profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimise/placed_model.h"
#include "simulate/profile.h"
#include "spec/diagnostics.h"
#include "spec/expr.h"
#include "trace/about.h"

namespace ripeline::load {

struct EvenCosts {
  optimise::PlacedModel::Costs of_rank;
  spec::Rational latency{0, 1};
  bool whole_backward = false;
};
// In `unit`; nothing, and theirs becomes it, as of use_unit().
[[nodiscard]] spec::Result<EvenCosts> read_even_costs(const std::vector<std::string>& texts,
                                                      std::optional<trace::Unit>& unit);

// Whether it has B, and neither I nor W.
[[nodiscard]] bool has_whole_backwards(const simulate::Profile& profile);
// Layers that a profile has, in the order of their numbers, in its unit and as exactly as time is
// counted.
[[nodiscard]] spec::Result<std::vector<optimise::PlacedModel::Costs>> read_layers(
    const simulate::Profile& profile, const std::string& file);
// The latency of all links, else the mean of those that it has; nothing: it has none.
[[nodiscard]] std::optional<double> latency_of(const simulate::Profile& profile);
// Names what a profile of layers has that says nothing of an even step of them. Empty: nothing.
[[nodiscard]] std::string left_out_of(const simulate::Profile& profile);

}  // namespace ripeline::load
