// A committed order with its sends and receives written out, judged on the wire
// (wire/wire.h).
//
// The lowering is un-grouped: each message is received just before the task that needs it and sent
// just after the task that made it, edge by edge as the program numbers them. A verdict is for the
// microbatch counts it names and for no other. Pure functions; never throw; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/verify.h"
#include "wire/wire.h"

namespace ripeline::verify {

enum class WireStreams : std::uint8_t {
  one,    // a rank does one thing after another, sends and receives among them
  apart,  // tasks on a stream, messages on those of their communicators: a task waits for what it
          // receives, a send for its task, and nobody for a send
};
[[nodiscard]] std::string name_of(WireStreams streams);  // one, apart

// The order must expand and must run to its end for this count (run_order() says so).
[[nodiscard]] WireProgram wire_program(const spec::Program& program, int microbatches,
                                       WireStreams streams);

// Each count from min to max was judged. Of a range without an end, or a long one: up to
// 2 * ranks + 1, fewer where that would be too many tasks.
struct WireCounts {
  int min = 0;
  int max = 0;
  bool all = false;  // these are all that the program allows
};

struct LayoutRow {
  WireStreams streams = WireStreams::one;
  WireLayout layout = WireLayout::group;
  WireKernels kernels = WireKernels::per_stream;
  WireVerdict::Kind kind = WireVerdict::Kind::safe;  // at the fewest microbatches that are not safe
  int microbatches = 0;                              // their number; 0 if safe for all
  std::string sentence;                              // why not
};
struct LayoutTable {
  std::optional<std::string> problem;  // why there are no rows
  WireCounts counts;
  std::vector<LayoutRow> rows;  // streams, then layout, then kernels; every message a rendezvous
};
[[nodiscard]] LayoutTable judge_layouts(const spec::Program& program);

}  // namespace ripeline::verify
