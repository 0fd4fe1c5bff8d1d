#include "optimise/layer_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "simulate/amount.h"
#include "simulate/rank_costs.h"

namespace ripeline::optimise {
namespace {

constexpr std::size_t kMostDecimals = 4;  // in a cost
constexpr int kMostLayers = 1024;

spec::Diagnostics errors_of(std::string sentence) { return {spec::failure(std::move(sentence))}; }

struct OpCost {
  const char* op;
  spec::Rational PlacedModel::Costs::*cost;
};
std::vector<OpCost> ops_of(bool whole_backward) {
  const OpCost forward{"F", &PlacedModel::Costs::forward};
  if (whole_backward) return {forward, {"B", &PlacedModel::Costs::input}};
  return {forward, {"I", &PlacedModel::Costs::input}, {"W", &PlacedModel::Costs::weight}};
}

// Reads the values of `F=1`, `B=2` and `C=0`, in this order; false if the texts differ from these.
bool read_named(const std::vector<std::string>& texts, std::vector<std::string>& values) {
  constexpr std::array<std::string_view, 3> kNames = {"F=", "B=", "C="};
  if (texts.size() != kNames.size()) return false;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].starts_with(kNames[i])) return false;
    values.push_back(texts[i].substr(kNames[i].size()));
  }
  return true;
}

bool has_op(const simulate::Profile& profile, std::string_view op) {
  return std::any_of(profile.tasks.begin(), profile.tasks.end(),
                     [&](const simulate::Profile::Task& task) { return task.op == op; });
}

spec::Result<PlacedModel::Costs> read_layer(const simulate::Profile& profile, int layer, bool whole,
                                            const std::string& whose) {
  constexpr double kMost = 1e15;  // nanoseconds
  const std::int64_t unit = profile.unit.nanoseconds;
  PlacedModel::Costs costs{.forward = {0, 1}, .input = {0, 1}, .weight = {0, 1}};
  double sum = 0;
  for (const auto& [op, cost] : ops_of(whole)) {
    const simulate::Profile::Task* const task = profile.find_task(op, layer);
    if (task == nullptr) {
      return errors_of(fmt::format(
          "{}expected what {} of stage {} takes, of all microbatches alike; a whole backward is "
          "given as B, without I and W of any stage",
          whose, op, layer));
    }
    const double nanoseconds = std::round(task->mean * static_cast<double>(unit));
    sum += nanoseconds;
    const auto takes = static_cast<std::int64_t>(std::min(nanoseconds, kMost));
    const std::int64_t common = std::gcd(takes, unit);
    costs.*cost = {takes / common, unit / common};
  }
  if (!(sum > 0 && sum < kMost)) {
    return errors_of(fmt::format(
        "{}expected that a layer takes more than 0 and less than 11 days, found {:g} {} for {} of "
        "stage {}",
        whose, sum / static_cast<double>(unit), profile.unit.name, whole ? "F and B" : "F, I and W",
        layer));
  }
  return costs;
}

}  // namespace

spec::Result<EvenCosts> read_even_costs(const std::vector<std::string>& texts,
                                        std::optional<trace::Unit>& unit) {
  const auto expected = spec::failure(fmt::format(
      "--costs: expected F,I,W,LATENCY: three numbers above 0 and one of 0 or more, below 1e9 and "
      "with up to {} decimals, as in 24,23,12,0.5 or 24ms,23ms,12ms,0.5ms; or with a whole "
      "backward F=24,B=35,C=0.5",
      kMostDecimals));
  std::vector<std::string> values;
  const bool whole = read_named(texts, values);
  if (!whole) values = texts;
  if (const auto used = simulate::use_unit("--costs", values, unit); !used.ok()) {
    return used.errors();
  }
  std::vector<spec::Rational> costs;
  for (const std::string& text : values) {
    const auto cost = simulate::decimal(text);
    const std::size_t point = std::min(text.find('.'), text.size());
    if (!cost || text.size() - point > kMostDecimals + 1) return expected;
    if (costs.size() + 1 < values.size() && cost->numerator == 0) return expected;
    costs.push_back(*cost);
  }
  if (!whole && costs.size() != 4) return expected;
  return EvenCosts{.of_rank = {.forward = costs[0],
                               .input = costs[1],
                               .weight = whole ? spec::Rational{0, 1} : costs[2]},
                   .latency = costs.back(),
                   .whole_backward = whole};
}

bool has_whole_backwards(const simulate::Profile& profile) {
  return has_op(profile, "B") && !has_op(profile, "I") && !has_op(profile, "W");
}

spec::Result<std::vector<PlacedModel::Costs>> read_layers(const simulate::Profile& profile,
                                                          const std::string& file) {
  const std::string whose = file + ": without a FILE its stages are the layers of the model: ";
  std::int64_t count = 0;
  for (const simulate::Profile::Task& task : profile.tasks) {
    count = std::max(count, std::int64_t{task.stage.value_or(-1)} + 1);
  }
  if (count == 0) {
    return errors_of(whose + "expected F, I and W, or F and B, of each `stage`, numbered from 0");
  }
  if (count > kMostLayers) {
    return errors_of(fmt::format("{}expected at most {}, found {}", whose, kMostLayers, count));
  }
  const bool whole = has_whole_backwards(profile);
  std::vector<PlacedModel::Costs> layers;
  for (int layer = 0; layer < count; ++layer) {
    const auto costs = read_layer(profile, layer, whole, whose);
    if (!costs.ok()) return costs.errors();
    layers.push_back(costs.value());
  }
  return layers;
}

std::optional<double> latency_of(const simulate::Profile& profile) {
  std::optional<double> of_all;
  double sum = 0;
  for (const simulate::Profile::Link& link : profile.links) {
    if (!link.from && !link.to) of_all = link.latency;
    sum += link.latency;
  }
  if (of_all || profile.links.empty()) return of_all;
  return sum / static_cast<double>(profile.links.size());
}

std::string left_out_of_profile(const simulate::Profile& profile) {
  const auto any_task = [&](const auto& is) {
    return std::any_of(profile.tasks.begin(), profile.tasks.end(), is);
  };
  const auto any_link = [&](const auto& is) {
    return std::any_of(profile.links.begin(), profile.links.end(), is);
  };
  using Task = simulate::Profile::Task;
  using Link = simulate::Profile::Link;
  const bool whole = has_whole_backwards(profile);
  const std::vector<OpCost> ops = ops_of(whole);
  const auto is_other = [&](const Task& task) {
    return std::none_of(ops.begin(), ops.end(), [&](const OpCost& op) { return task.op == op.op; });
  };
  const std::pair<bool, const char*> parts[] = {
      {any_task(is_other), whole ? "ops other than F and B" : "ops other than F, I and W"},
      {any_task([](const Task& task) { return task.microbatch.has_value(); }),
       "costs of single microbatches"},
      {any_task([](const Task& task) { return task.spread > 0; }) ||
           any_link([](const Link& link) { return link.spread > 0; }),
       "spreads"},
      {any_link([](const Link& link) { return link.bytes_per_second > 0; }), "bandwidths"},
      {!profile.messages.empty(), "sizes of messages"},
      {!profile.inputs.empty(), "inputs"},
      {profile.control.has_value(), "the latency of announcements"}};
  std::string text;
  for (const auto& [is_there, name] : parts) {
    if (is_there) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace ripeline::optimise
