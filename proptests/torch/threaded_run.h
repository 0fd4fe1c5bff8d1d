// train: a step of training by all processes of a program's layout, as threads, over a transport.
// Tasks begin and messages arrive at random times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "proptests/torch/graph_model.h"
#include "spec/program.h"

namespace ripeline::proptests {

enum class Link : std::uint8_t {
  local,  // between threads
  unix_sockets,
  tcp_sockets,
};

struct RunPlan {
  int microbatches = 1;  // in a pass
  int passes = 1;
  Link link = Link::local;
  std::uint64_t timing = 0;  // the seed of all delays
};

// The state of a process after the step.
struct Trained {
  core::Status status;
  double loss = 0;
  std::map<int, std::vector<runtime::NamedTensor>> parameters;  // by stage, with their gradients
  std::size_t live = 0;                                         // activations
};

// Trains one step; the results are by process.
[[nodiscard]] std::vector<Trained> train(const spec::Program& program, const GraphModel& model,
                                         const RunPlan& plan);

}  // namespace ripeline::proptests
