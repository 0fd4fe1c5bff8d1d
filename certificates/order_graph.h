// A committed order with one microbatch count, as a certificate's graph (recheck_graph.h describes
// the form).
//
// The writer and recheck() both derive graph_text(); only the writer adds graph_witness(), and
// check_graph() judges it. Pure; throws only std::bad_alloc.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"

namespace ripeline::certificates {

// The tasks, orders, needs and bounded links; nullopt if the order has no meaning for this count.
[[nodiscard]] std::optional<std::string> graph_text(const spec::Program& program, int microbatches);

// The `order` line with the tasks of the longest run, and a `cycle` line if there is a cycle.
[[nodiscard]] std::string graph_witness(const spec::Program& program, int microbatches);

// True if the run that graph_witness() writes ends at a cycle.
[[nodiscard]] bool has_cycle(const spec::Program& program, int microbatches);

}  // namespace ripeline::certificates
