// Random programs, as text: valid, small and diverse, the same for the same seed everywhere.
//
// Placements (chain, loop, V, two inputs that join), split and whole backwards, resources per stage
// and per rank with amounts, `leaving` and capacities, sequential ops, every kind of hint, orders
// that work and orders that do not, with streams and without, peak assertions; and on demand what
// is beyond one task per microbatch on one engine with a slot for each message. Safe programs and
// others come about equally often. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace ripeline::testing_support {

struct RandomProgramOptions {
  int max_ranks = 3;
  int max_chunks = 2;
  int max_microbatches = 4;
  int max_tasks = 1'000;      // lanes * microbatches; fewer microbatches are taken to keep to it
  bool any_count = true;      // `microbatches any` and ranges; else one count
  bool joins = true;          // two stages that feed one
  bool orders = true;         // `dispatch in order`; else readiness-first only
  bool streams = true;        // orders that take from streams
  bool broken_orders = true;  // also orders that wait for themselves or leave tasks out
  bool assertions = true;
  bool forks = false;  // half of all are graphs: also stages that feed several
  // Each of these comes about in a part of the programs, alone or with others.
  bool links = false;    // bounded slots, fifo, channels; rendezvous under committed orders
  bool once = false;     // ops that run once, and needs of all microbatches
  bool before = false;   // needs of the microbatch before
  bool engines = false;  // offload and reload on engines of their own
  bool keeping = false;  // room that is kept for the rest of an order, on chains
  bool shares = false;   // ops that run for some microbatches only
  bool pairs = false;    // tasks beside each other
  bool groups = false;   // two members to a rank, each way to agree
  bool hints = false;    // hints that list chunks, or an op several times
  bool mixed = false;    // a backward that is whole for some microbatches and split for others
  // In every program.
  int members = 1;   // to a rank; above 1 all tasks of microbatches have collectives
  int replicas = 1;  // above 1 each stage reduces its gradients once, on comm
};

[[nodiscard]] std::string random_program_text(std::uint64_t seed,
                                              const RandomProgramOptions& options = {});

}  // namespace ripeline::testing_support
