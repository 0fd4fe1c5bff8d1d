// The basic types of a schedule (lanes, tasks, messages, engines, kinds of ops), for all code that
// describes, judges, generates or runs a schedule.
//
// Lanes are numbered rank by rank, so that the lanes of one rank are contiguous; edges are sorted
// by their consumer's lane. All are plain values. core/vocabulary/ includes the standard library
// alone, and every folder may include it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ripeline::core {

// The number of a lane (an op at a stage), which is an index into a program's lanes.
using LaneId = std::int32_t;
// The number of an edge (one lane's need of another), which is an index into a program's edges.
using EdgeId = std::int32_t;

// One execution of a lane, written as in PyTorch by stage, op and microbatch: `2F0`. A lane's tasks
// are numbered 0, 1, … in the order of their microbatches, and `microbatch` is that number: if the
// lane has only some of the microbatches, its share says which microbatch the number stands for.
struct Task {
  LaneId lane = -1;
  std::int32_t microbatch = -1;
  bool operator==(const Task&) const = default;
};

// A finished task's output over an edge that crosses ranks; `microbatch` is that task's number.
struct Message {
  EdgeId edge = -1;
  std::int32_t microbatch = -1;
  bool operator==(const Message&) const = default;
};

// The part of a rank that a task occupies while it runs; each rank has one engine of each kind.
enum class Engine : std::uint8_t { compute, copy_out, copy_in, comm };
inline constexpr std::array kAllEngines = {Engine::compute, Engine::copy_out, Engine::copy_in,
                                           Engine::comm};
inline constexpr int kEngines = static_cast<int>(kAllEngines.size());
// The index into lists that have one entry for each engine of each rank.
[[nodiscard]] constexpr std::size_t engine_index(int rank, Engine engine) {
  return static_cast<std::size_t>(rank) * kAllEngines.size() + static_cast<std::size_t>(engine);
}

// The effect of a task on the model, which the runtime's stages carry out.
enum class OpKind : std::uint8_t {
  plain,            // none: the task is only scheduled
  forward,          // F
  backward,         // B, gradients for input and weights
  backward_input,   // I, gradient for the input
  backward_weight,  // W, gradient for the weights
  reduce,           // gradients across replicas
  offload,          // activations to the host
  reload,           // activations from the host
  recompute,        // the forward again, for its activations
  user,             // a function that the training program registers
};

// Which tasks of the producer a task needs (core/vocabulary/need.h).
enum class Of : std::uint8_t {
  same,    // the task of the same microbatch
  before,  // the task of the microbatch before; none for the first
  all,     // every task
};

// The rule for which input each microbatch of a step is (core/input_order.h). Inputs differ only in
// costs, and no rule of a schedule uses costs; so the order only decides which input gets which
// number (docs/proofs.md).
enum class InputOrder : std::uint8_t {
  natural,  // microbatch m is input m
  pyramid,  // small, large, small
};

// The names of the values, as files and generated code write them, in the order of the values.
inline constexpr std::array kEngineNames = {"compute", "copy_out", "copy_in", "comm"};
inline constexpr std::array kOpKindNames = {
    "plain",  "forward", "backward", "backward_input", "backward_weight",
    "reduce", "offload", "reload",   "recompute",      "user"};
inline constexpr std::array kOfNames = {"same", "before", "all"};
[[nodiscard]] constexpr const char* name_of(Engine engine) {
  return kEngineNames[static_cast<std::size_t>(engine)];
}
[[nodiscard]] constexpr const char* name_of(OpKind kind) {
  return kOpKindNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr const char* name_of(Of of) {
  return kOfNames[static_cast<std::size_t>(of)];
}

}  // namespace ripeline::core
