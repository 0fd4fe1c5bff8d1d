// A committed order with one microbatch count, as a certificate's graph (recheck_graph.h has the
// form).
//
// What the writer and recheck() derive alike is graph_text(); graph_witness() is what the writer
// alone adds and check_graph() judges. Pure; throw only for want of memory.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"

namespace ripeline::verify {

// Tasks, orders, needs and bounded links. Nothing: the order has no meaning for this count.
[[nodiscard]] std::optional<std::string> graph_text(const spec::Program& program, int microbatches);

// An `order` line, or the longest run there is, and a `cycle` line if there is a cycle.
[[nodiscard]] std::string graph_witness(const spec::Program& program, int microbatches);

// Whether the run that graph_witness() gives ends at a cycle.
[[nodiscard]] bool has_cycle(const spec::Program& program, int microbatches);

}  // namespace ripeline::verify
