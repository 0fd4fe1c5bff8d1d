// The trained GPT: hints against fixed orders of the same memory on real tensors, over real
// sockets.
//
// `gpt --compare` runs the steps of both sides alternately under the same injected delays; sleeps
// replace most of the compute. The simulator draws from the same distributions, but not the same
// delays, since gpt has its own seeds. Blocks. Throws std::runtime_error if a run fails, a rank
// holds more than was proved, the two sides have different memory, or a cell has no number.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ripeline::bench::comparison {

struct TrainedOptions {
  std::string gpt;     // the path of gpt
  std::string launch;  // the path of ripeline-launch
  int ranks = 4;       // the number for which gpt is built
  int microbatches = 32;
  int steps = 10;      // on each side, after a step that warms up
  int first_seed = 1;  // for the delays
  double unit_ms = 5;  // the time for which a forward sleeps
  double latency = 0.05;
  std::string condition;  // a part of the conditions' names; if empty, all conditions
};

// Prints the table and returns its cells.
[[nodiscard]] nlohmann::json compare_trained(const TrainedOptions& options);
// Whether the name of some condition contains `part`.
[[nodiscard]] bool is_trained_condition(const std::string& part);

}  // namespace ripeline::bench::comparison
