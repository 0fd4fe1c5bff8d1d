// Profile: what tasks and messages take, as measured or assumed; a JSON file (docs/formats.md).
//
// Of several entries that fit a task or a link, the one that says most about it counts; of two that
// say as much, the later. Values; shared freely.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "spec/program.h"
#include "trace/about.h"

namespace ripeline::simulate {

struct Profile {
  struct Task {
    std::string op;
    std::optional<int> stage;
    std::optional<int> microbatch;
    double mean = 0;    // in the unit
    double spread = 0;  // standard deviation, in the unit
  };
  struct Link {
    std::optional<int> from;  // ranks
    std::optional<int> to;
    double latency = 0;           // in the unit
    double spread = 0;            // standard deviation, in the unit
    double bytes_per_second = 0;  // 0: unlimited
  };
  struct Message {
    std::string op;  // the producer's
    double bytes = 0;
  };
  trace::Unit unit = {};
  std::vector<Task> tasks;
  std::vector<Link> links;
  std::vector<Message> messages;
  std::vector<double> inputs;     // per microbatch: what `input` is in costs
  std::optional<double> control;  // latency of announcements and grants, in the unit

  // The entry for an op at a stage for all microbatches; null: there is none.
  [[nodiscard]] const Task* find_task(const std::string& op, int stage) const;
  // The same of an op of the program. A whole backward that was not measured takes what the two
  // halves of one take at the stage, one after the other.
  [[nodiscard]] std::optional<Task> find_task(const spec::Program& program, int op,
                                              int stage) const;
  // The size of what an op of the program sends. A whole backward of which nothing is said sends
  // what the half does that computes the gradient of the input. 0: nothing is said of either.
  [[nodiscard]] double bytes_of(const spec::Program& program, int op) const;

  static core::Status parse(const std::string& text, Profile& profile);
  [[nodiscard]] std::string to_json() const;
};

// ns, us, ms or s; nothing: the name is none of these.
[[nodiscard]] std::optional<trace::Unit> unit_named(const std::string& name);

}  // namespace ripeline::simulate
