// Measured: the profile that the traces of a run give (docs/formats.md, "Profiles").
//
// Of each op at each stage it has the mean and the standard deviation of what its tasks took, from
// start to end as the trace has them, and of each pair of ranks those of the time from when a
// message left until it was handed over. What a trace cannot say is left out of the profile, and
// `unknown` names it: costs of what never ran, and sizes of messages.
//
// Several traces are of one program and one unit: those of several runs, or parts of one. Traces of
// PyTorch (trace/torch_trace.h) are of the ranks of one run, and have neither program nor messages;
// their unit is a microsecond. The statistics are kept, not the traces. One thread.
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
  std::vector<std::string> unknown = {};  // sentences for people
};

class Measurement {
 public:
  // Leaves out the first `skip_steps` of the file's steps, in which memory is first taken and
  // kernels are loaded. Fails by status, and then takes nothing of the file: no step remains, a
  // task ends before it starts, or the file is of another program or unit than those before.
  core::Status add(const trace::File& file, std::int64_t skip_steps);
  // Likewise; the file does not go with those before if they have its rank, or no step of its own,
  // or if the tasks of one ran on a GPU and those of the other did not.
  core::Status add(const trace::TorchTrace& trace, std::int64_t skip_steps);
  // In the unit of the trace; where that has no name, one of it is a millisecond.
  [[nodiscard]] Measured result() const;

 private:
  // In nanoseconds; of one value the deviation is 0.
  struct Spread {
    std::int64_t count = 0;
    double mean = 0;
    double squares = 0;  // the sum of squared differences from the mean
    void add(double value);
    [[nodiscard]] double deviation() const;
  };

  // The state for traces of PyTorch.
  struct Torch {
    int ranks = 0;  // in the run; 0: not known
    bool on_gpu = false;
    std::set<int> seen;                                          // ranks
    std::optional<std::set<std::int64_t>> steps = std::nullopt;  // common to traces that mark them
  };

  // Makes an entry for all that the program could run and send.
  void begin(const trace::About& about);
  void begin(const trace::TorchTrace& trace);
  [[nodiscard]] std::vector<std::string> unknown_of_torch() const;

  bool begun_ = false;
  std::optional<Torch> torch_;  // nothing: traces of Ripeline
  std::string program_;         // for people
  std::uint64_t hash_ = 0;
  trace::Unit unit_;
  std::vector<std::string> ops_;                   // names
  std::map<std::pair<int, int>, Spread> tasks_;    // by op and stage
  std::map<std::pair<int, int>, Spread> latency_;  // by ranks, from and to
  std::int64_t beside_ = 0;                        // tasks that ran beside another
};

}  // namespace ripeline::simulate
