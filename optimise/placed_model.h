// A model of layers, one after the other, as a program: F, I and W, or F and B, of stages on one of
// the placements.
//
// A stage is a run of layers. A message takes as long on every placement. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/expr.h"

namespace ripeline::optimise {

struct PlacedModel {
  enum class Placement : std::uint8_t {
    chain,  // one stage on a rank
    loop,   // `chunks` stages on a rank: down the ranks, and again from rank 0 on
    v,      // two, of which the later one lies on the way back up
  };
  // A layer's costs for one microbatch; not all 0.
  struct Costs {
    spec::Rational forward{1, 1};
    spec::Rational input{1, 1};  // or the whole backward
    spec::Rational weight{1, 1};
  };
  // The amount that a microbatch holds in as many layers as a rank has on average, from the start
  // of F on; `after_input` of it from the end of I to the end of W.
  struct Bytes {
    std::int64_t activation = 1;
    std::int64_t after_input = 1;  // from 1 to `activation`
    // Not empty: both are bytes, and so is `memory`. It is a unit of bytes as people gave it; the
    // program's unit is one of the same kind, in which its amounts are whole.
    std::string unit = {};
  };

  static constexpr int kMostChunks = 8;

  Placement placement = Placement::chain;
  int chunks = 1;  // up to kMostChunks
  int ranks = 4;
  int microbatches = 8;
  std::vector<Costs> layers;
  std::vector<int> first_layers;  // per stage, as cut() returns them
  // How much a rank may hold, in the unit of `bytes`; without them, of how many microbatches it
  // may hold what these have there.
  spec::Rational memory{4, 1};
  std::optional<Bytes> bytes = {};
  // F and B alone: `weight` of each layer is 0, and `after_input` is `activation`.
  bool whole_backward = false;

  [[nodiscard]] int stages() const { return chunks * ranks; }
};

inline constexpr const char* kPlacedModel = "optimised";  // the name of its program

[[nodiscard]] int rank_of(const PlacedModel& model, int stage);

// As many layers as there are stages, all alike, of which those of a rank cost this together.
[[nodiscard]] std::vector<PlacedModel::Costs> even_layers(const PlacedModel::Costs& of_rank,
                                                          int ranks, int chunks);
// The first layer of each stage, so that the costliest stage costs as little as it can, and then
// the sum of squares of their costs is the least. There are at least as many layers as stages. Time
// and memory grow with stages times layers, time with its product with the layers of a stage.
[[nodiscard]] std::vector<int> cut(const std::vector<PlacedModel::Costs>& layers, int stages);

// Amounts of the program are whole numbers. Where they have no unit of bytes, one of `memory` is
// this many of the program's.
[[nodiscard]] double parts_of(const PlacedModel& model);
// Whether each rank has room for a microbatch in its largest stage.
[[nodiscard]] bool has_room(const PlacedModel& model);
// The program, whose dispatch is the simplest there is. Without has_room() it is that of a model
// that has it.
[[nodiscard]] std::string program_text(const PlacedModel& model);

}  // namespace ripeline::optimise
