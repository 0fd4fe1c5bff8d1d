// An even model as a program: F, I and W of stages that all cost the same, on one of the
// placements.
//
// What is given is for all layers of a rank: of K stages on a rank each has a K-th of the costs and
// of what is held. A message takes as long on every placement. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spec/expr.h"

namespace ripeline::optimise {

struct EvenModel {
  enum class Placement : std::uint8_t {
    chain,  // one stage on a rank
    loop,   // `chunks` stages on a rank: down the ranks, and again from rank 0 on
    v,      // two, of which the later one lies on the way back up
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
  spec::Rational forward{1, 1};
  spec::Rational input{1, 1};
  spec::Rational weight{1, 1};
  // What a rank may hold: of `bytes`, else activations of all its layers.
  spec::Rational memory{4, 1};
  std::optional<Bytes> bytes = {};
};

inline constexpr const char* kEvenModel = "optimised";  // the name of its program

// Whether a rank has room for the activation of one stage.
[[nodiscard]] bool has_room(const EvenModel& model);
// The program, whose capacity is in K-ths of the unit of `memory`, and whose dispatch is the
// simplest there is. Without has_room() it is that of a model that has it.
[[nodiscard]] std::string program_text(const EvenModel& model);

}  // namespace ripeline::optimise
