#include "optimise/model_options.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "optimise/layer_costs.h"
#include "optimise/placed_model.h"
#include "simulate/amount.h"

namespace ripeline::optimise {
namespace {

using pytorch::Placement;
using simulate::amount_in;
using simulate::Dimension;
using spec::failure;

constexpr int kModelRanks = 4;
constexpr int kModelMicrobatches = 8;
constexpr int kUsualChunks = 2;
constexpr int kMostTriedChunks = 4;  // if several placements are tried

spec::Result<std::optional<PlacedModel::Bytes>> read_activation(
    const std::vector<std::string>& texts, bool whole_backward) {
  if (texts.empty()) return std::optional<PlacedModel::Bytes>();
  constexpr std::int64_t kMost = 1'000'000'000;           // without a unit
  constexpr std::int64_t kMostBytes = 1'000'000'000'000;  // so that the sum of all tasks fits, too
  PlacedModel::Bytes bytes;
  std::int64_t* const numbers[] = {&bytes.activation, &bytes.after_input};
  bool read = texts.size() == (whole_backward ? 1U : 2U);
  std::optional<Dimension> dimension;
  for (std::size_t i = 0; read && i < texts.size(); ++i) {
    const auto amount = amount_in(texts[i]);
    read = amount && amount->dimension != Dimension::time &&
           (amount->base.denominator == 1 || amount->dimension == Dimension::bytes) &&
           dimension.value_or(amount->dimension) == amount->dimension;
    if (!read) break;
    dimension = amount->dimension;
    *numbers[i] = amount->base.numerator / amount->base.denominator;  // rounds bytes down
    if (i == 0) bytes.unit = amount->unit;
  }
  if (whole_backward) bytes.after_input = bytes.activation;
  if (read && bytes.activation <= (bytes.unit.empty() ? kMost : kMostBytes) &&
      bytes.after_input >= 1 && bytes.after_input <= bytes.activation) {
    return std::optional(bytes);
  }
  if (whole_backward) {
    return failure(
        "--activation: expected A: what a microbatch holds in all of a rank's layers from F to the "
        "end of its whole backward, bytes as in 1.9GB or a whole number from 1 to 1e9 in the unit "
        "of --memory, as in 100");
  }
  return failure(
      "--activation: expected A,AFTER_I: what a microbatch holds in all of a rank's layers from F "
      "on, and what of it is left after I, bytes as in 1.9GB,0.3GB or whole numbers from 1 to 1e9 "
      "in the unit of --memory, the second one not the larger, as in 100,43");
}

// Reads how much a rank may hold, in the unit of a microbatch's activation.
spec::Result<spec::Rational> read_memory(const std::string& text, int ranks,
                                         const std::optional<PlacedModel::Bytes>& bytes) {
  const std::int64_t each = bytes ? bytes->activation : 1;
  if (text.empty()) return spec::Rational{ranks * each, 1};
  const bool in_bytes = bytes && !bytes->unit.empty();
  const auto memory = amount_in(text);
  const Dimension wanted = in_bytes ? Dimension::bytes : Dimension::none;
  if (memory && memory->base.numerator > 0 && memory->dimension == wanted) return memory->base;
  if (memory && memory->dimension == Dimension::bytes) {
    return failure(fmt::format(
        "--memory {}: bytes need what a microbatch holds, in bytes too: --activation A,AFTER_I, as "
        "in --activation 1.9GB,0.3GB",
        text));
  }
  return failure(in_bytes ? "--memory: expected bytes, as those of --activation, as in 24GB"
                          : "--memory: expected how many microbatches a rank may hold in all of "
                            "its layers, a number above 0, as in 7 or 2.5; with --activation, in "
                            "its unit");
}

// Makes the model's forms, for each requested placement.
class PlacedModels {
 public:
  explicit PlacedModels(const ModelOptions& options) : options_(options) {
    forms_.times = options.times;
  }

  spec::Result<ModelForms> read() {
    if (const auto s = read_model(); !s.ok()) return s.errors();
    const bool several = options_.placements.size() > 1;
    for (const auto& [placement, chunks] : wanted()) {
      const int stages = chunks * model_.ranks;
      if (!layers_.empty() && static_cast<int>(layers_.size()) < stages) {
        const std::string fewer =
            fmt::format("{} has {} layers, fewer than the {} stages of placement {}",
                        options_.profile, layers_.size(), stages, name_of(placement, chunks));
        if (!several || chunks == 1) return failure(fewer);
        forms_.notes.push_back("not tried: " + fewer);
        continue;
      }
      if (const auto s = add(placement, chunks); !s.ok()) return s.errors();
    }
    forms_.model = layers_.empty()
                       ? fmt::format("costs {}", fmt::join(costs_of(options_), ","))
                       : fmt::format("{} layers of {}", layers_.size(), options_.profile);
    return std::move(forms_);
  }

 private:
  // The placements to try, each with its number of stages per rank.
  [[nodiscard]] std::vector<std::pair<Placement, int>> wanted() const {
    if (options_.placements.empty()) return {{Placement::chain, 1}};
    const bool several = options_.placements.size() > 1;
    std::vector<std::pair<Placement, int>> all;
    for (const Placement placement : options_.placements) {
      const bool loop = placement == Placement::loop;
      const int least =
          loop ? options_.chunks.value_or(kUsualChunks) : (placement == Placement::chain ? 1 : 2);
      const int most = loop && several ? kMostTriedChunks : least;
      for (int chunks = least; chunks <= most; ++chunks) all.emplace_back(placement, chunks);
    }
    return all;
  }

  spec::Result<void> read_model() {
    if (const auto s = forms_.times.profile ? read_profile() : read_even(); !s.ok()) {
      return s.errors();
    }
    const auto bytes = read_activation(options_.activation, model_.whole_backward);
    if (!bytes.ok()) return bytes.errors();
    model_.ranks = options_.ranks.value_or(kModelRanks);
    model_.microbatches = options_.microbatches.value_or(kModelMicrobatches);
    model_.bytes = bytes.value();
    const auto memory = read_memory(options_.memory, model_.ranks, model_.bytes);
    if (!memory.ok()) return memory.errors();
    model_.memory = memory.value();
    if (options_.chunks && options_.placements != std::vector{Placement::loop}) {
      return failure("--chunks: only --placement loop has a number of stages to choose");
    }
    return {};
  }

  spec::Result<void> read_even() {
    simulate::TimingOptions& times = forms_.times;
    const auto read = read_even_costs(costs_of(options_), times.unit);
    if (!read.ok()) return read.errors();
    of_rank_ = read.value().of_rank;
    model_.whole_backward = read.value().whole_backward;
    if (times.rank_costs || times.latency) {
      return failure(
          "--rank-costs and --latency are for a FILE or a profile of layers: --costs has the costs "
          "and the latency");
    }
    times.latency = read.value().latency.value();
    return {};
  }

  spec::Result<void> read_profile() {
    simulate::TimingOptions& times = forms_.times;
    if (!options_.costs.empty() || times.rank_costs) {
      return failure("--profile has the costs of the layers: leave out --costs and --rank-costs");
    }
    const simulate::Profile& profile = *options_.times.profile;
    model_.whole_backward = has_whole_backwards(profile);
    auto layers = read_layers(profile, options_.profile);
    if (!layers.ok()) return layers.errors();
    layers_ = std::move(layers).value();
    if (times.unit && times.unit->name != profile.unit.name) {
      return failure(fmt::format("--unit: {} is in {}", options_.profile, profile.unit.name));
    }
    times.unit = profile.unit;
    if (times.bytes_per_second && !times.message_bytes) {
      return failure("--bandwidth needs --bytes, the size of a message");
    }
    if (!times.latency) times.latency = latency_of(profile);
    if (!times.latency) {
      forms_.notes.push_back(options_.profile +
                             " has no links: messages take no time; --latency says what they take");
      times.latency = 0;
    }
    if (const std::string rest = left_out_of_profile(profile); !rest.empty()) {
      forms_.notes.push_back(
          fmt::format("of {} these are not looked at without a FILE: {}", options_.profile, rest));
    }
    times.profile.reset();  // the program has the costs
    return {};
  }

  spec::Result<void> add(Placement placement, int chunks) {
    PlacedModel model = model_;
    model.placement = placement;
    model.chunks = chunks;
    if (std::int64_t{3} * model.stages() > kMostTasks / model.microbatches) {
      return failure(
          fmt::format("--ranks and -m: more than {} tasks are not searched", kMostTasks));
    }
    model.layers = layers_.empty() ? even_layers(of_rank_, model.ranks, chunks) : layers_;
    return add_forms(model, !layers_.empty(), options_.objective, forms_);
  }

  const ModelOptions& options_;
  PlacedModel model_;
  PlacedModel::Costs of_rank_;              // if all layers are alike
  std::vector<PlacedModel::Costs> layers_;  // otherwise
  ModelForms forms_;
};

}  // namespace

bool ModelOptions::describes_model() const {
  return ranks || chunks || !costs.empty() || !memory.empty() || !activation.empty();
}

std::vector<std::string> costs_of(const ModelOptions& options) {
  return options.costs.empty() ? std::vector<std::string>{"1", "1", "1", "0"} : options.costs;
}

spec::Result<ModelForms> forms_of(const ModelOptions& options) {
  return PlacedModels(options).read();
}

}  // namespace ripeline::optimise
