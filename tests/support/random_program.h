// Random programs, as text: valid, small, diverse, and the same for the same seed everywhere.
//
// They have placements (chain, loop, V, two inputs that join), split and whole backwards, resources
// per stage and per rank with amounts, `leaving` and capacities, sequential ops, hints of every
// kind, right and wrong orders, with and without streams, and peak assertions. Options add other
// features; without them, each microbatch has one task on one engine, with a slot for each message.
// About half of the programs are safe. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace ripeline::testing_support {

struct RandomProgramOptions {
  int max_ranks = 3;
  int max_chunks = 2;
  int max_microbatches = 4;
  int max_tasks = 1'000;      // lanes * microbatches; lowers the microbatches where necessary
  bool any_count = true;      // also `microbatches any` and ranges; if false, only one count
  bool joins = true;          // also two stages that feed one
  bool orders = true;         // also `dispatch in order`; if false, only readiness-first
  bool streams = true;        // also orders that take from streams
  bool broken_orders = true;  // also orders that deadlock or leave tasks out
  bool assertions = true;
  bool forks = false;  // half of all are graphs in which a stage may feed several
  // Each of these options appears in some of the programs, alone or with others.
  bool links = false;    // bounded slots, fifo, channels; rendezvous under committed orders
  bool once = false;     // ops that run once, and needs of all microbatches
  bool before = false;   // needs of the previous microbatch
  bool engines = false;  // offload and reload on engines of their own
  bool keeping = false;  // room is kept for the rest of an order, on chains
  bool shares = false;   // ops that run for some microbatches only
  bool pairs = false;    // ops whose tasks may overlap
  bool groups = false;   // two members per rank; each way to agree
  bool hints = false;    // hints that list chunks, or an op several times
  bool mixed = false;    // a backward that is whole for some microbatches and split for others
  // These two apply to every program.
  int members = 1;   // members per rank; above 1 all tasks of microbatches have collectives
  int replicas = 1;  // above 1, each stage reduces its gradients once, on the engine comm
};

[[nodiscard]] std::string random_program_text(std::uint64_t seed,
                                              const RandomProgramOptions& options = {});

}  // namespace ripeline::testing_support
