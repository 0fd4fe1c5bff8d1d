#include "optimise/placed_model.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/vocabulary/byte_unit.h"

namespace ripeline::optimise {
namespace {

using spec::Rational;
using Costs = PlacedModel::Costs;

// Writes the value as a decimal if this is exact, else as a fraction.
std::string text_of(Rational value) {
  std::int64_t rest = value.denominator;
  std::int64_t power = 1;
  for (const std::int64_t prime : {2, 5}) {
    std::int64_t times = 1;
    while (rest % prime == 0) rest /= prime, times *= 10;
    power = std::max(power, times);
  }
  if (rest != 1) return fmt::format("{} / {}", value.numerator, value.denominator);
  std::string text = std::to_string(value.numerator / value.denominator);
  std::int64_t part = value.numerator % value.denominator;
  if (part != 0) text += '.';
  for (; part != 0; part %= value.denominator) {
    part *= 10;
    text += static_cast<char>('0' + part / value.denominator);
  }
  return text;
}

std::string place_of(const PlacedModel& model) {
  switch (model.placement) {
    case pytorch::Placement::chain:
      return "s";
    case pytorch::Placement::loop:
      return fmt::format("s % {}", model.ranks);
    case pytorch::Placement::v:
      return fmt::format("s < {0} ? s : {1} - s", model.ranks, 2 * model.ranks - 1);
  }
  return "";
}

Rational lowest(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t common = std::gcd(numerator, denominator);
  return {numerator / common, denominator / common};
}

Rational sum(Rational a, Rational b) {
  const std::int64_t common = std::lcm(a.denominator, b.denominator);
  const std::int64_t total =
      a.numerator * (common / a.denominator) + b.numerator * (common / b.denominator);
  return lowest(total, common);
}

Rational part(Rational cost, std::int64_t parts) {
  const std::int64_t common = std::gcd(cost.numerator, parts);
  return {cost.numerator / common, cost.denominator * (parts / common)};
}

Rational cost_of(const Costs& layer) { return sum(sum(layer.forward, layer.input), layer.weight); }

// The costs of the layers, in a unit in which all of them are whole numbers.
std::vector<std::int64_t> whole_costs(const std::vector<Costs>& layers) {
  std::int64_t common = 1;
  for (const Costs& layer : layers) common = std::lcm(common, cost_of(layer).denominator);
  std::vector<std::int64_t> costs;
  for (const Costs& layer : layers) {
    const Rational cost = cost_of(layer);
    costs.push_back(cost.numerator * (common / cost.denominator));
  }
  return costs;
}

bool can_be_cut(const std::vector<std::int64_t>& costs, int stages, std::int64_t most) {
  int used = 0;
  std::int64_t stage = most;
  for (const std::int64_t cost : costs) {
    stage += cost;
    if (stage > most) ++used, stage = cost;
  }
  return used <= stages;
}

// The least possible cost of the costliest stage.
std::int64_t least_largest(const std::vector<std::int64_t>& costs, int stages) {
  std::int64_t least = *std::max_element(costs.begin(), costs.end());
  std::int64_t enough = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
  while (least < enough) {
    const std::int64_t half = least + (enough - least) / 2;
    if (can_be_cut(costs, stages, half)) {
      enough = half;
    } else {
      least = half + 1;
    }
  }
  return least;
}

std::vector<int> layers_of_stages(const PlacedModel& model) {
  std::vector<int> counts;
  for (std::size_t s = 0; s < model.first_layers.size(); ++s) {
    const bool is_last = s + 1 == model.first_layers.size();
    const int end = is_last ? static_cast<int>(model.layers.size()) : model.first_layers[s + 1];
    counts.push_back(end - model.first_layers[s]);
  }
  return counts;
}

// The size of the largest groups of layers that no stage splits. Amounts are per such group.
int group_of(const std::vector<int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0,
                         [](int a, int b) { return std::gcd(a, b); });
}

// The program's amounts: those that a microbatch holds in a group of layers, and a rank's room.
struct Held {
  std::int64_t activation = 1;
  std::int64_t after_input = 1;
  std::int64_t room = 0;
  std::string unit = {};
  double parts = 1;  // units of these amounts per unit of the model's `memory`
};

// The amounts in the largest unit of the user's kind (binary or decimal) in which all are whole. If
// not even bytes are whole, amounts are rounded down, so that nothing that fits is excluded.
Held held_in_bytes(const PlacedModel& model, Rational groups) {
  const PlacedModel::Bytes& of = *model.bytes;
  const bool is_binary = of.unit.find('i') != of.unit.npos;
  const Rational activation = lowest(of.activation * groups.denominator, groups.numerator);
  const Rational after = lowest(of.after_input * groups.denominator, groups.numerator);
  const auto is_whole = [](const Rational& value, std::int64_t bytes) {
    return value.numerator % (value.denominator * bytes) == 0;
  };
  for (const auto& [name, bytes] : core::kByteUnits) {
    if (bytes > 1 && (name.find('i') != name.npos) != is_binary) continue;
    const bool is_last = bytes == 1;
    if (!is_last &&
        !(is_whole(activation, bytes) && is_whole(after, bytes) && is_whole(model.memory, bytes))) {
      continue;
    }
    const auto down = [size = bytes](const Rational& value) {
      return std::max<std::int64_t>(1, value.numerator / (value.denominator * size));
    };
    return {.activation = down(activation),
            .after_input = down(after),
            .room = model.memory.numerator / (model.memory.denominator * bytes),
            .unit = std::string(name)};
  }
  return {};
}

Held held_of(const PlacedModel& model, const std::vector<int>& counts) {
  // The number of groups of layers that a rank has on average.
  const Rational groups = lowest(static_cast<std::int64_t>(model.layers.size()),
                                 std::int64_t{model.ranks} * group_of(counts));
  const PlacedModel::Bytes of = model.bytes.value_or(PlacedModel::Bytes{});
  if (!of.unit.empty()) return held_in_bytes(model, groups);
  const auto is_whole = [&](std::int64_t amount) {
    return amount * groups.denominator % groups.numerator == 0;
  };
  if (is_whole(of.activation) && is_whole(of.after_input)) {
    return {.activation = of.activation * groups.denominator / groups.numerator,
            .after_input = of.after_input * groups.denominator / groups.numerator,
            .room = model.memory.numerator / model.memory.denominator};
  }
  return {.activation = of.activation,
          .after_input = of.after_input,
          .room = groups.numerator * model.memory.numerator /
                  (model.memory.denominator * groups.denominator),
          .parts = groups.value()};
}

std::int64_t largest_of(const Held& held, const std::vector<int>& counts) {
  return held.activation * *std::max_element(counts.begin(), counts.end()) / group_of(counts);
}

// A run of consecutive stages with the same value: its first stage and its value. text_of() writes
// runs as an expression of the stage number `s`.
struct StageRun {
  std::size_t first;
  std::string value;
};
// Writes many runs as nested halves, since the language limits how deep expressions nest.
std::string text_of(std::span<const StageRun> runs) {
  constexpr std::size_t kInARow = 64;
  if (runs.size() > kInARow) {
    const std::size_t half = runs.size() / 2;
    return fmt::format("s < {} ? ({}) : ({})", runs[half].first, text_of(runs.first(half)),
                       text_of(runs.subspan(half)));
  }
  std::string text;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    text += fmt::format("s < {} ? {} : ", runs[i].first, runs[i - 1].value);
  }
  return text + runs.back().value;
}

std::string text_of(const std::vector<std::string>& of_stages) {
  std::vector<StageRun> runs;
  for (std::size_t s = 0; s < of_stages.size(); ++s) {
    if (runs.empty() || runs.back().value != of_stages[s]) runs.push_back({s, of_stages[s]});
  }
  return text_of(std::span<const StageRun>(runs));
}

std::string cost_text(const PlacedModel& model, Rational Costs::*of) {
  std::vector<std::string> costs;
  std::size_t layer = 0;
  for (const int count : layers_of_stages(model)) {
    Rational cost{0, 1};
    for (int i = 0; i < count; ++i) cost = sum(cost, model.layers[layer++].*of);
    costs.push_back(text_of(cost));
  }
  return text_of(costs);
}

std::string amount_text(const char* verb, std::int64_t of_group, const std::vector<int>& counts) {
  if (of_group == 0) return "";
  std::vector<std::string> amounts;
  for (const int count : counts)
    amounts.push_back(std::to_string(of_group * count / group_of(counts)));
  const std::string amount = text_of(amounts);
  return fmt::format(" {} activation{};", verb, amount == "1" ? "" : " " + amount);
}

std::string backward_text(const PlacedModel& model, const Held& held,
                          const std::vector<int>& counts) {
  const std::string input = cost_text(model, &Costs::input);
  if (model.whole_backward) {
    return fmt::format("op B backward {{ cost {}; needs F at here, B at next;{} }}\n", input,
                       amount_text("releases", held.activation, counts));
  }
  return fmt::format("op I backward input {{ cost {}; needs F at here, I at next;{} }}\n", input,
                     amount_text("releases", held.activation - held.after_input, counts)) +
         fmt::format("op W backward weight {{ cost {}; needs I at here;{} }}\n",
                     cost_text(model, &Costs::weight),
                     amount_text("releases", held.after_input, counts));
}

}  // namespace

int rank_of(const PlacedModel& model, int stage) {
  const bool back = model.placement == pytorch::Placement::v && stage >= model.ranks;
  return back ? 2 * model.ranks - 1 - stage : stage % model.ranks;
}

std::vector<Costs> even_layers(const Costs& of_rank, int ranks, int chunks) {
  const Costs layer{.forward = part(of_rank.forward, chunks),
                    .input = part(of_rank.input, chunks),
                    .weight = part(of_rank.weight, chunks)};
  return std::vector(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(chunks), layer);
}

// A dynamic program. Among the cuts with the cheapest costliest stage, it finds the least sum of
// squares. From the last stage back, it finds the best end for each layer where a stage may begin.
std::vector<int> cut(const std::vector<Costs>& layers, int stages) {
  std::vector<int> first(static_cast<std::size_t>(stages));
  std::iota(first.begin(), first.end(), 0);
  if (layers.size() == first.size()) return first;
  const std::vector<std::int64_t> costs = whole_costs(layers);
  const std::int64_t most = least_largest(costs, stages);
  const std::size_t end = costs.size();
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // Sums that differ only by rounding count as equal, and the first of them that was found is kept.
  constexpr double kLess = 1 - 1e-9;
  std::vector<double> rest(end + 1, kNone);  // by layer: the least sum of the stages from there on
  rest[end] = 0;
  std::vector<std::vector<int>> next;  // per stage, last stage first: its best end, by first layer
  for (int s = 0; s < stages; ++s) {
    std::vector<double> best(end + 1, kNone);
    std::vector<int>& to = next.emplace_back(end + 1, 0);
    for (std::size_t from = 0; from < end; ++from) {
      std::int64_t cost = 0;
      for (std::size_t until = from; until < end && cost + costs[until] <= most;) {
        cost += costs[until++];
        const double sum = rest[until] + static_cast<double>(cost) * static_cast<double>(cost);
        if (sum < best[from] * kLess) {
          best[from] = sum;
          to[from] = static_cast<int>(until);
        }
      }
    }
    rest = std::move(best);
  }
  int at = 0;
  for (int& stage : first) {
    stage = std::exchange(at, next.back()[static_cast<std::size_t>(at)]);
    next.pop_back();
  }
  return first;
}

double parts_of(const PlacedModel& model) { return held_of(model, layers_of_stages(model)).parts; }

bool has_room(const PlacedModel& model) {
  const std::vector<int> counts = layers_of_stages(model);
  const Held held = held_of(model, counts);
  return held.room >= largest_of(held, counts);
}

std::string program_text(const PlacedModel& model) {
  const std::vector<int> counts = layers_of_stages(model);
  const Held held = held_of(model, counts);
  // A program would be invalid if an op acquired more than the capacity.
  const std::int64_t capacity = std::max(held.room, largest_of(held, counts));
  std::string text = fmt::format("pipeline {} {{\n", kPlacedModel);
  text += fmt::format("microbatches {}; stages {}; place s on {};\n", model.microbatches,
                      model.stages(), place_of(model));
  text += fmt::format("op F forward {{ cost {}; needs F at prev;{} }}\n",
                      cost_text(model, &Costs::forward),
                      amount_text("acquires", held.activation, counts));
  text += backward_text(model, held, counts);
  return text +
         fmt::format("resource activation per rank {{ capacity {};{} }}\ndispatch ready;\n}}\n",
                     capacity, held.unit.empty() ? "" : fmt::format(" unit \"{}\";", held.unit));
}

}  // namespace ripeline::optimise
