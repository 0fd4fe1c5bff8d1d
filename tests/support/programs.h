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

// A chain of `ranks` stages with 1F1B's memory and the hint bf, whose ranks have two members; their
// tasks have collectives. Messages go over `link`; `more` among the items.
[[nodiscard]] std::string group_text(int ranks, const std::string& agree, const std::string& link,
                                     const std::string& microbatches = "any",
                                     const std::string& more = "");

// Two stages feed a third; each op may be sequential.
[[nodiscard]] std::string join_text(bool sequential, const std::string& microbatches, int capacity);

// Two stages feed a third; `forward` stands after the kind of F, `link` after its need, `more`
// among the items. Capacity 4 per stage, the hint bf.
[[nodiscard]] std::string join_via(const std::string& forward, const std::string& link,
                                   const std::string& more = "");

// A chain of 4 ranks, the hint bf and a stage's resource `a`; with these ops.
[[nodiscard]] std::string chain_of(const std::string& ops,
                                   const std::string& capacity = "ranks - s");

// 1F1B committed to, with both needs by way of `link`; `more` among the items.
[[nodiscard]] std::string order_via(const std::string& link, const std::string& microbatches,
                                    const std::string& more = "");

// 1F1B of 3 ranks by rendezvous, whose first stage sends labels to the last one over `link`, each
// before the forward of its microbatch.
[[nodiscard]] std::string labels_text(const std::string& link);

// A chain of two stages that recompute, where a rank takes 1 in F and 3 more in R; `forward` stands
// behind what F acquires.
[[nodiscard]] std::string recompute_text(const std::string& forward);

}  // namespace ripeline::testing_support
