// A model of layers, one after the other, as a program: F, I and W of stages on one of the
// placements.
//
// Stages are runs of layers. They are cut so that the costliest one costs as little as it can, and
// then as evenly as can be; of layers that are all alike each stage has as many, if that divides.
// A message takes as long on every placement. Pure.
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
  // Of a layer, for a microbatch.
  struct Costs {
    spec::Rational forward{1, 1};
    spec::Rational input{1, 1};
    spec::Rational weight{1, 1};
  };
  // Held from the start of F; `after_input` of it from the end of I to the end of W.
  struct Bytes {
    std::int64_t activation = 1;
    std::int64_t after_input = 1;  // from 1 to `activation`
  };

  Placement placement = Placement::chain;
  int chunks = 1;
  int ranks = 4;
  int microbatches = 8;
  std::vector<Costs> layers;  // at least as many as there are stages
  // What a rank may hold: of `bytes`, which is of as many layers as a rank has on average, else
  // activations of these.
  spec::Rational memory{4, 1};
  std::optional<Bytes> bytes = {};

  [[nodiscard]] int stages() const { return chunks * ranks; }
};

inline constexpr const char* kPlacedModel = "optimised";  // the name of its program

// As many layers as there are stages, all alike, of which those of a rank cost this together.
[[nodiscard]] std::vector<PlacedModel::Costs> even_layers(const PlacedModel::Costs& of_rank,
                                                          int ranks, int chunks);
// The first layer of each stage.
[[nodiscard]] std::vector<int> cut(const std::vector<PlacedModel::Costs>& layers, int stages);

// What `memory` is multiplied by in the program, whose amounts are whole numbers.
[[nodiscard]] double parts_of(const PlacedModel& model);
// Whether each rank has room for the activation of its largest stage.
[[nodiscard]] bool has_room(const PlacedModel& model);
// The program, whose dispatch is the simplest there is. Without has_room() it is that of a model
// that has it.
[[nodiscard]] std::string program_text(const PlacedModel& model);

}  // namespace ripeline::optimise
