// Measured: a profile made from the traces of a run (docs/formats.md, "Profiles").
//
// For each op at each stage the profile has the mean and standard deviation of the tasks' times,
// from start to end as in the trace. For each pair of ranks it has the mean and deviation of the
// times of messages, from leaving to being handed over. Data that are in no trace are left out of
// the profile and named in `unknown`: costs of ops that never ran, and sizes of messages.
//
// Several traces must have the same program and unit; they are of several runs or parts of one run.
// Traces of PyTorch (trace/torch_trace.h) must be of ranks of one run; they lack program and
// messages, and their unit is a microsecond. Only the statistics are stored. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "simulate/profile.h"
#include "trace/read.h"
#include "trace/torch_trace.h"

namespace ripeline::simulate {

struct Measured {
  Profile profile;
  std::vector<std::string> unknown = {};  // sentences for people on missing data
};

class Measurement {
 public:
  // Leaves out the first `skip_steps` of the file's steps, in which memory is first allocated and
  // kernels are loaded. Fails by status, without using the file, if no step remains, a task ends
  // before it starts, or the file has another program or unit than earlier files.
  core::Status add(const trace::File& file, std::int64_t skip_steps);
  // The same for PyTorch. Also fails if an earlier trace has the same rank, if the traces have no
  // step in common, or if tasks ran on a GPU in one trace and not in another.
  core::Status add(const trace::TorchTrace& trace, std::int64_t skip_steps);
  // The profile in the unit of the trace; an arbitrary unit counts as a millisecond.
  [[nodiscard]] Measured result() const;

 private:
  // Statistics of times in nanoseconds; the deviation of a single value is 0.
  struct Spread {
    std::int64_t count = 0;
    double mean = 0;
    double squares = 0;  // the sum of squared differences from the mean
    void add(double value);
    [[nodiscard]] double deviation() const;
  };

  // The extra state for traces of PyTorch.
  struct Torch {
    int ranks = 0;  // in the run; 0 if not known
    bool on_gpu = false;
    std::set<int> seen;                                          // ranks
    std::optional<std::set<std::int64_t>> steps = std::nullopt;  // in all traces that mark steps
  };

  // Makes entries for all ops and links of the program, or of PyTorch's schedule.
  void begin(const trace::About& about);
  void begin(const trace::TorchTrace& trace);
  [[nodiscard]] std::vector<std::string> unknown_of_torch() const;

  bool begun_ = false;
  std::optional<Torch> torch_;  // nullopt if the traces are Ripeline's
  std::string program_;         // for people
  std::uint64_t hash_ = 0;
  trace::Unit unit_;
  std::vector<std::string> ops_;                   // names
  std::map<std::pair<int, int>, Spread> tasks_;    // by op and stage
  std::map<std::pair<int, int>, Spread> latency_;  // by sending and receiving rank
  std::int64_t beside_ = 0;                        // tasks that ran beside another one
};

}  // namespace ripeline::simulate
