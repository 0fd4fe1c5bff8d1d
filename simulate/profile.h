// Profile: what tasks and messages take, as measured or assumed; a JSON file (docs/formats.md).
//
// If several entries fit a task or a link, the most specific one counts; of two that are equally
// specific, the later. Values; shared freely.
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
    std::string op;  // the producer's op
    double bytes = 0;
  };
  trace::Unit unit = {};
  std::vector<Task> tasks;
  std::vector<Link> links;
  std::vector<Message> messages;
  std::vector<double> inputs;     // per microbatch: the value of `input` in costs
  std::optional<double> control;  // latency of announcements and grants, in the unit

  // The entry for an op at a stage for all microbatches; null: there is none.
  [[nodiscard]] const Task* find_task(const std::string& op, int stage) const;
  // The same for an op of the program. A whole backward that was not measured takes the sum of the
  // times of the two halves of a backward at the stage.
  [[nodiscard]] std::optional<Task> find_task(const spec::Program& program, int op,
                                              int stage) const;
  // The size of the messages of an op of the program. A whole backward without an entry sends what
  // a half sends that computes the gradient of the input. 0: neither has an entry.
  [[nodiscard]] double bytes_of(const spec::Program& program, int op) const;

  static core::Status parse(const std::string& text, Profile& profile);
  [[nodiscard]] std::string to_json() const;
};

// ns, us, ms or s; nothing: the name is none of these.
[[nodiscard]] std::optional<trace::Unit> unit_named(const std::string& name);

}  // namespace ripeline::simulate
