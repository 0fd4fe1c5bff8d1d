// A committed order with one microbatch count, as a certificate's graph (recheck_graph.h describes
// the form).
//
// The writer and recheck() both derive graph_text(); graph_witness() is added by the writer alone,
// and check_graph() judges it. Pure; throws only for want of memory.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"

namespace ripeline::certificates {

// The tasks, orders, needs and bounded links; nothing if the order has no meaning for this count.
[[nodiscard]] std::optional<std::string> graph_text(const spec::Program& program, int microbatches);

// The `order` line, cut short where the longest run ends, and a `cycle` line if there is a cycle.
[[nodiscard]] std::string graph_witness(const spec::Program& program, int microbatches);

// True if the run that graph_witness() writes ends at a cycle.
[[nodiscard]] bool has_cycle(const spec::Program& program, int microbatches);

}  // namespace ripeline::certificates
