// Timelines of simulated programs, for tests.
#pragma once

#include <string>

#include "tests/simulate/runs.h"
#include "view/reasons.h"
#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::testing_support {

// With 3 microbatches: two fill the room, and the backwards wait for the third forward.
inline constexpr const char* kStuckChain =
    "\npipeline stuck { microbatches any; stages 2; place s on s;\n"
    "  op F forward { needs F at prev; acquires activation; }\n"
    "  op B backward { needs F at here of all, B at next; releases activation; }\n"
    "  resource activation per stage { capacity 2; } dispatch ready; }\n";

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
