// Programs that several tests speak of, as text. Pure functions.
#pragma once

#include <string>

namespace ripeline::testing_support {

// A chain of `ranks` stages with F and B, 1F1B's memory, and the orders one_f_one_b, gpipe, waits
// (for itself) and short (one B too few), the hints bf and b_first; then `dispatch`.
[[nodiscard]] std::string chain_text(int ranks, const std::string& dispatch,
                                     const std::string& microbatches = "any",
                                     const std::string& capacity = "ranks - s");

// The V of the language's example. `leaving`: with its reservation, without which it deadlocks.
[[nodiscard]] std::string v_text(int ranks, bool leaving, const std::string& microbatches = "any");

// Two stages feed a third; each op may be sequential.
[[nodiscard]] std::string join_text(bool sequential, const std::string& microbatches, int capacity);

}  // namespace ripeline::testing_support
