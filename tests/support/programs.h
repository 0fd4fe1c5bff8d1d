// Programs that several tests use, as text. Pure functions.
#pragma once

#include <string>

namespace ripeline::testing_support {

// A chain of `ranks` stages with F and B and 1F1B's memory; the orders one_f_one_b, gpipe, waits
// (which deadlocks) and short (which lacks one B); the hints bf and b_first; then `dispatch`.
[[nodiscard]] std::string chain_text(int ranks, const std::string& dispatch,
                                     const std::string& microbatches = "any",
                                     const std::string& capacity = "ranks - s");

// The V of the language's example. Without `leaving`, F leaves no room, and the program deadlocks.
[[nodiscard]] std::string v_text(int ranks, bool leaving, const std::string& microbatches = "any");

// A chain of `ranks` stages with 1F1B's memory and the hint bf. Its ranks have two members, and its
// tasks have collectives. All messages use `link`; `more` is put among the items.
[[nodiscard]] std::string group_text(int ranks, const std::string& agree, const std::string& link,
                                     const std::string& microbatches = "any",
                                     const std::string& more = "");

// A program in which two stages feed a third; `sequential` makes both ops sequential.
[[nodiscard]] std::string join_text(bool sequential, const std::string& microbatches, int capacity);

// A program in which two stages feed a third. `forward` is put after the kind of F, `link` after
// its need, and `more` among the items. The capacity is 4 per stage, the hint bf.
[[nodiscard]] std::string join_via(const std::string& forward, const std::string& link,
                                   const std::string& more = "");

// A chain of 4 ranks with `ops`, the hint bf and a resource `a` per stage.
[[nodiscard]] std::string chain_of(const std::string& ops,
                                   const std::string& capacity = "ranks - s");

// 1F1B as a committed order, with both needs via `link`; the text `more` is put among the items.
[[nodiscard]] std::string order_via(const std::string& link, const std::string& microbatches,
                                    const std::string& more = "");

// 1F1B of 3 ranks by rendezvous. Its first stage sends labels to the last one over `link`: the
// labels of each microbatch before its forward.
[[nodiscard]] std::string labels_text(const std::string& link);

// A chain of two stages that recompute: F acquires 1 of the stage's memory and R 3 more. `forward`
// is put after what F acquires.
[[nodiscard]] std::string recompute_text(const std::string& forward);

}  // namespace ripeline::testing_support
