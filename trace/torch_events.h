// TorchEvents: the events of a trace of PyTorch's profiler that say what tasks took.
//
// Of a file that may be large, they are a few words each. What they mean, trace/torch_trace.h says.
// Values; times are nanoseconds.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/status.h"

namespace ripeline::trace {

// A number that an event does not have.
inline constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

// An annotation of the host.
struct Mark {
  std::string name;
  std::int64_t thread = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

// An operator began.
struct Operator {
  std::int64_t thread = 0;
  std::int64_t start = 0;
  auto operator<=>(const Operator&) const = default;
};

// The host told a GPU to do something. `id` is what the work on the GPU has, too.
struct Launch {
  std::int64_t id = 0;
  std::int64_t at = 0;
  auto operator<=>(const Launch&) const = default;
};

struct GpuWork {
  std::int64_t launch = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

// The events of a file that may matter.
struct TorchEvents {
  int rank = -1;
  int ranks = 0;
  std::vector<Mark> actions;  // PP:…
  std::vector<Mark> steps;    // ProfilerStep#…
  std::vector<Operator> operators;
  std::vector<Launch> launches;
  std::vector<GpuWork> work;
  bool has_simple_marks = false;  // as ScheduleGPipe makes them
  bool has_nccl = false;          // the host called NCCL
};

// Reads the file, one event after the other. Fails by status, with what is wrong with it: it is no
// whole JSON, or an event that counts has no times.
core::Status read_events(const std::string& path, TorchEvents& events);

// Whether the keys of its root are those of PyTorch's profiler, as far as they can be read. It
// reads no further than to the first that tells, which is at the file's beginning.
[[nodiscard]] bool is_torch_trace(const std::string& path);

}  // namespace ripeline::trace
