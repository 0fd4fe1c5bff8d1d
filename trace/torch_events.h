// TorchEvents: the events of a trace of PyTorch's profiler from which the times of tasks follow.
//
// The file may be large, but these events take only a few words of memory each. trace/torch_trace.h
// explains them. Values; times are nanoseconds.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/status.h"

namespace ripeline::trace {

// The value of a number that an event lacks.
inline constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

// An annotation of the host.
struct Mark {
  std::string name;
  std::int64_t thread = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

// The start of an operator.
struct Operator {
  std::int64_t thread = 0;
  std::int64_t start = 0;
  auto operator<=>(const Operator&) const = default;
};

// A launch by the host of work on a GPU. The work has the same number, GpuWork::launch, as `id`.
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

// The events of a file that may be needed.
struct TorchEvents {
  int rank = -1;
  int ranks = 0;
  std::vector<Mark> actions;  // PP:…
  std::vector<Mark> steps;    // ProfilerStep#…
  std::vector<Operator> operators;
  std::vector<Launch> launches;
  std::vector<GpuWork> work;
  bool has_simple_marks = false;  // as made by ScheduleGPipe
  bool has_nccl = false;          // the host called NCCL
};

// Reads the file, one event after the other. A failure tells what is wrong: the file is not
// complete JSON, or a needed event has no times.
core::StatusOr<TorchEvents> read_events(const std::string& path);

// Whether the keys of the file's root are those of PyTorch's profiler, as far as they can be read.
// Reads only up to the first key that tells, which is near the file's beginning.
[[nodiscard]] bool is_torch_trace(const std::string& path);

}  // namespace ripeline::trace
