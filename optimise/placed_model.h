// PlacedModel: a sequence of layers, cut into the stages of a placement, as a program with the ops
// F, I and W, or F and B.
//
// A stage is some consecutive layers. A message takes equally long on every placement. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pytorch/lower.h"
#include "spec/expr.h"

namespace ripeline::optimise {

struct PlacedModel {
  // A layer's costs for one microbatch; not all 0.
  struct Costs {
    spec::Rational forward{1, 1};
    spec::Rational input{1, 1};  // or the whole backward
    spec::Rational weight{1, 1};
  };
  // The amount that a microbatch holds, in as many layers as a rank has on average, from the start
  // of F to the end of I, and the part of that amount that it holds from then to the end of W.
  struct Bytes {
    std::int64_t activation = 1;
    std::int64_t after_input = 1;  // from 1 to `activation`
    // The unit of bytes that the user wrote; empty if these amounts and `memory` are not in bytes.
    // The program's unit is one of the same kind, in which the program's amounts are whole.
    std::string unit = {};
  };

  static constexpr int kMostChunks = 8;

  pytorch::Placement placement = pytorch::Placement::chain;
  int chunks = 1;  // stages on a rank, up to kMostChunks: 1 of a chain, 2 of a v
  int ranks = 4;
  int microbatches = 8;
  std::vector<Costs> layers;
  std::vector<int> first_layers;  // per stage, as cut() returns them
  // How much a rank may hold, in the unit of `bytes`; without `bytes`, the number of microbatches
  // whose activations in all of its layers it may hold.
  spec::Rational memory{4, 1};
  std::optional<Bytes> bytes = {};
  // Only F and B. Then each layer's `weight` is 0, and `after_input` is `activation`.
  bool whole_backward = false;

  [[nodiscard]] int stages() const { return chunks * ranks; }
};

inline constexpr const char* kPlacedModel = "optimised";  // the name of the model's program

[[nodiscard]] int rank_of(const PlacedModel& model, int stage);

// Equal layers, as many as there are stages. Those of a rank together cost `of_rank`.
[[nodiscard]] std::vector<PlacedModel::Costs> even_layers(const PlacedModel::Costs& of_rank,
                                                          int ranks, int chunks);
// The first layers of the stages in a cut whose costliest stage costs the least and, among such
// cuts, whose stages have the least sum of squared costs. Needs at least as many layers as stages.
// Memory grows with stages times layers; time, with that product times the layers of a stage.
[[nodiscard]] std::vector<int> cut(const std::vector<PlacedModel::Costs>& layers, int stages);

// The number of the program's units of amount in one unit of `memory`, if they have no unit of
// bytes. It is above 1 if the program needs a smaller unit, since its amounts are whole numbers.
[[nodiscard]] double parts_of(const PlacedModel& model);
// Whether each rank has room for a microbatch in its largest stage.
[[nodiscard]] bool has_room(const PlacedModel& model);
// The text of the program, with the dispatch `ready`. If has_room() is false, its capacity is the
// least with which it is true.
[[nodiscard]] std::string program_text(const PlacedModel& model);

}  // namespace ripeline::optimise
