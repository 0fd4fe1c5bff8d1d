// A committed order with its sends and receives written out, judged on the wire
// (wire/wire.h).
//
// The lowering is un-grouped: each message is received just before the task that needs it and sent
// just after the task that made it, in the order of the program's edges. A verdict holds only for
// the microbatch counts that it names. Pure functions; never throw; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/verify.h"
#include "wire/wire.h"

namespace ripeline::wire {

enum class WireStreams : std::uint8_t {
  one,    // a rank runs tasks, sends and receives one after another
  apart,  // tasks are on one stream, messages on their communicators' streams; a task waits for its
          // receives, a send for its task, and no action for a send
};
[[nodiscard]] std::string name_of(WireStreams streams);  // one, apart

// The order must expand and must run to its end for this count (as run_order() finds).
[[nodiscard]] WireProgram wire_program(const spec::Program& program, int microbatches,
                                       WireStreams streams);

// Each count from min to max was judged. If the range is long or has no end, max is at most 2 *
// ranks + 1, and smaller if that would be too many tasks.
struct WireCounts {
  int min = 0;
  int max = 0;
  bool all = false;  // true if the program allows no other counts
};

struct LayoutRow {
  WireStreams streams = WireStreams::one;
  WireLayout layout = WireLayout::group;
  WireKernels kernels = WireKernels::per_stream;
  WireVerdict::Kind kind = WireVerdict::Kind::safe;  // the verdict at the least unsafe count
  int microbatches = 0;                              // the least unsafe count; 0 if safe for all
  std::string sentence;                              // the reason if it is not safe
};
struct LayoutTable {
  std::optional<std::string> problem;  // the reason if there are no rows
  WireCounts counts;
  std::vector<LayoutRow> rows;  // by streams, layout, kernels; each message a rendezvous
};
[[nodiscard]] LayoutTable judge_layouts(const spec::Program& program);

}  // namespace ripeline::wire
