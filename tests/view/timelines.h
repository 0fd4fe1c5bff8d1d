// Timelines of simulated programs, for tests.
#pragma once

#include <string>

#include "tests/simulate/runs.h"
#include "view/reasons.h"
#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::testing_support {

struct Drawn {
  // Of what compiled() takes.
  Drawn(const std::string& what, int microbatches, const simulate::TimingOptions& options = {},
        const spec::ElaborateOptions& elaborate = {})
      : program(compiled(what, elaborate)) {
    TableRun run(program);
    simulate::Timing timing;
    trace::File file;
    report = run.run(microbatches, options, &file.record, true);
    if (!simulate::Timing::make(program, microbatches, options, timing).ok()) return;
    file.about =
        trace::About(run.storage.facts(), {.microbatches = microbatches, .unit = timing.unit()});
    status = view::Timeline::make(std::move(file), timeline);
  }
  [[nodiscard]] int box(const std::string& task) const {
    return timeline.find(0, *view::task_named(timeline, task));
  }
  [[nodiscard]] core::Time start(const std::string& task) const {
    return timeline.box(box(task)).start;
  }
  // How long its engine stood idle before it.
  [[nodiscard]] core::Time idle_before(const std::string& task) const {
    const int before = timeline.before(box(task));
    return before < 0 ? core::Time{0} : start(task) - timeline.box(before).end;
  }

  spec::Program program;
  simulate::RunReport report;
  view::Timeline timeline;
  core::Status status;
};

}  // namespace ripeline::testing_support
