// Profile: the times of tasks and messages, measured or assumed, as a JSON file (docs/formats.md).
//
// If several entries match a task or a link, the most specific one is used, and the later one if
// two are equally specific. Values; shared freely.
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
    double bytes_per_second = 0;  // 0 if unlimited
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
  std::optional<double> control;  // the latency of announcements and grants, in the unit

  // The entry for an op at a stage, for all microbatches; null if there is none.
  [[nodiscard]] const Task* find_task(const std::string& op, int stage) const;
  // The same for an op of the program. If a whole backward was not measured, this is the sum of the
  // entries for the two halves of a backward at that stage.
  [[nodiscard]] std::optional<Task> find_task(const spec::Program& program, int op,
                                              int stage) const;
  // The size of the messages of an op of the program. If a whole backward has no entry, this is the
  // entry of a half that computes the gradient of the input; 0 if neither has one.
  [[nodiscard]] double bytes_of(const spec::Program& program, int op) const;

  static core::Status parse(const std::string& text, Profile& profile);
  [[nodiscard]] std::string to_json() const;
};

// The unit ns, us, ms or s; nullopt for any other name.
[[nodiscard]] std::optional<trace::Unit> unit_named(const std::string& name);

}  // namespace ripeline::simulate
