// The nouns of a run: lanes, tasks, messages, and who one is.
//
// Lanes are numbered rank by rank, so that the lanes of one rank are contiguous; edges are numbered
// by their consumer's lane. All are plain values.
#pragma once

#include <chrono>
#include <cstdint>

namespace ripeline::core {

// Time since an arbitrary start that one rank chose. Hosts share no clock.
using Time = std::chrono::nanoseconds;

// A lane is an op at a stage; an index into ProgramFacts::lanes.
using LaneId = std::int32_t;
// A need of one lane on another; an index into ProgramFacts::edges.
using EdgeId = std::int32_t;

// One execution of a lane. Written as PyTorch does: stage, op, microbatch, `2F0`. Of a lane that
// has some microbatches only, `microbatch` counts those: ProgramFacts::microbatch_of says which it
// is.
struct Task {
  LaneId lane = -1;
  std::int32_t microbatch = -1;
  bool operator==(const Task&) const = default;
};

// What a finished task sends over an edge that crosses ranks. Its microbatch is its producer's.
struct Message {
  EdgeId edge = -1;
  std::int32_t microbatch = -1;
  bool operator==(const Message&) const = default;
};

// Who one is: which copy of the pipeline, which rank of it, which member of the rank's
// tensor-parallel group.
struct Coordinates {
  int replica = 0;
  int rank = 0;
  int member = 0;
  bool operator==(const Coordinates&) const = default;
};

// What a task occupies while it runs; each rank has one of each.
enum class Engine : std::uint8_t { compute, copy_out, copy_in };
inline constexpr int kEngines = 3;

// What a task does to the model; the runtime's stages act on it.
enum class OpKind : std::uint8_t {
  plain,            // no meaning beyond the schedule
  forward,          // F
  backward,         // B, gradients for input and weights
  backward_input,   // I, gradient for the input
  backward_weight,  // W, gradient for the weights
  reduce,           // gradients across replicas
  offload,          // activations to the host
  reload,           // and back
  recompute,        // the forward again, for its activations
  user,             // a function that the training program registers
};

}  // namespace ripeline::core
