// PlacedModel: a sequence of layers, cut into the stages of a placement, as a program with the ops
// F, I and W, or F and B.
//
// A stage is a group of consecutive layers. Messages take the same time on all placements. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pytorch/lower.h"
#include "spec/expr.h"

namespace ripeline::optimise {

struct PlacedModel {
  // A layer's costs for one microbatch; at least one is above 0.
  struct Costs {
    spec::Rational forward{1, 1};
    spec::Rational input{1, 1};  // or the whole backward
    spec::Rational weight{1, 1};
  };
  // The amounts that a microbatch holds in an average rank's layers: `activation` from the start of
  // F to the end of I, and `after_input`, a part of the former, from then to the end of W.
  struct Bytes {
    std::int64_t activation = 1;
    std::int64_t after_input = 1;  // from 1 to `activation`
    // The user's unit of bytes; empty if these amounts and `memory` are not in bytes. The program's
    // unit is of the same kind (binary or decimal), and its amounts are whole in that unit.
    std::string unit = {};
  };

  static constexpr int kMostChunks = 8;

  pytorch::Placement placement = pytorch::Placement::chain;
  int chunks = 1;  // stages on a rank, up to kMostChunks: 1 of a chain, 2 of a v
  int ranks = 4;
  int microbatches = 8;
  std::vector<Costs> layers;
  std::vector<int> first_layers;  // per stage, as cut() returns them
  // The most that a rank may hold, in the unit of `bytes`. Without `bytes`, the number of
  // microbatches whose activations, in all of the rank's layers, it may hold.
  spec::Rational memory{4, 1};
  std::optional<Bytes> bytes = {};
  // True if only F and B exist. Then each layer's `weight` is 0, and `after_input` is `activation`.
  bool whole_backward = false;

  [[nodiscard]] int stages() const { return chunks * ranks; }
};

inline constexpr const char* kPlacedModel = "optimised";  // the name of the model's program

[[nodiscard]] int rank_of(const PlacedModel& model, int stage);

// Makes one layer per stage, all equal. The layers of one rank together cost `of_rank`.
[[nodiscard]] std::vector<PlacedModel::Costs> even_layers(const PlacedModel::Costs& of_rank,
                                                          int ranks, int chunks);
// Returns each stage's first layer. The cut makes the costliest stage as cheap as possible and then
// minimises the sum of squared stage costs. Needs at least as many layers as stages. Uses memory
// for stages * layers, and time for that product times the layers of a stage.
[[nodiscard]] std::vector<int> cut(const std::vector<PlacedModel::Costs>& layers, int stages);

// The number of the program's units of amount in one unit of `memory`, if amounts are not in bytes.
// It is above 1 if the program needs a smaller unit so that its amounts are whole numbers.
[[nodiscard]] double parts_of(const PlacedModel& model);
// Whether each rank has room for one microbatch in the rank's largest stage.
[[nodiscard]] bool has_room(const PlacedModel& model);
// The text of the program, with the dispatch `ready`. If has_room() is false, its capacity is the
// least that has room for a microbatch in the largest stage.
[[nodiscard]] std::string program_text(const PlacedModel& model);

}  // namespace ripeline::optimise
