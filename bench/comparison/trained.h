// The trained GPT: hints against fixed orders of the same memory on real tensors, over real
// sockets.
//
// `gpt --compare` runs both sides step by step in turn under the same injected delays; sleeps stand
// for most of the compute. The simulator's numbers are of the same distributions and of draws of
// its own: gpt's delays have their own seeds. Blocks. Throws std::runtime_error if a run fails, a
// rank holds more than was proved, the sides' memory differs, or a cell has no number.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ripeline::bench::comparison {

struct TrainedOptions {
  std::string gpt;     // the programs
  std::string launch;  // ripeline-launch
  int ranks = 4;       // gpt is built for this number
  int microbatches = 32;
  int steps = 10;      // on each side, after one that warms up
  int first_seed = 1;  // for the delays
  double unit_ms = 5;  // how long a forward sleeps
  double latency = 0.05;
  std::string condition;  // empty: all; else those with this in their name
};

// Prints the table; the cells.
[[nodiscard]] nlohmann::json compare_trained(const TrainedOptions& options);
// Whether a condition has this in its name.
[[nodiscard]] bool is_trained_condition(const std::string& part);

}  // namespace ripeline::bench::comparison
