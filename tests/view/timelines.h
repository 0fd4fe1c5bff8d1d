// Timelines of simulated programs, for tests.
#pragma once

#include <string>

#include "spec/dispatch_text.h"
#include "tests/simulate/runs.h"
#include "view/reasons.h"
#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::testing_support {

// Deadlocks with 3 microbatches: two forwards fill the room, and backwards need the third forward.
inline constexpr const char* kStuckChain =
    "\npipeline stuck { microbatches any; stages 2; place s on s;\n"
    "  op F forward { needs F at prev; acquires activation; }\n"
    "  op B backward { needs F at here of all, B at next; releases activation; }\n"
    "  resource activation per stage { capacity 2; } dispatch ready; }\n";

// A forward and a backward may overlap, each at a fraction of its speed.
inline constexpr const char* kPairs =
    "\npipeline pairs { param ranks = 4; microbatches any; stages ranks; place s on s;\n"
    "  op F forward { cost 1; needs F at prev; acquires activation; }\n"
    "  op B backward { cost 2; needs F at here, B at next; releases activation; }\n"
    "  resource activation per stage { capacity ranks - s + 1; }\n"
    "  order one_f_one_b on r { let warm = min(ranks - 1 - r, microbatches);\n"
    "    F * warm; (F B) * (microbatches - warm); B * warm; }\n"
    "  pair F, B { cost 2.5; } dispatch in order one_f_one_b; }\n";

struct Drawn {
  // `what` is a library schedule or the text of a program, as for compiled_schedule().
  Drawn(const std::string& what, int microbatches, const simulate::TimingOptions& options = {},
        const spec::ElaborateOptions& elaborate = {})
      : program(compiled_schedule(what, elaborate)) {
    TableRun run(program);
    simulate::Timing timing;
    trace::File file;
    report = run.run(microbatches, options, &file.record, true);
    if (!simulate::Timing::make(program, microbatches, options, timing).ok()) return;
    file.about =
        trace::About(run.storage.facts(), {.microbatches = microbatches,
                                           .source = trace::Source::simulated,
                                           .unit = timing.unit(),
                                           .costs = timing.text(),
                                           .params = {program.params.begin(), program.params.end()},
                                           .dispatch = spec::dispatch_text(program)});
    status = view::Timeline::make(std::move(file), timeline);
  }
  [[nodiscard]] int box(const std::string& task) const {
    return timeline.find(0, *view::task_named(timeline, task));
  }
  [[nodiscard]] core::Time start(const std::string& task) const {
    return timeline.box(box(task)).start;
  }
  // The time for which the task's engine was idle before the task.
  [[nodiscard]] core::Time idle_before(const std::string& task) const {
    return timeline.idle_before(box(task));
  }

  spec::Program program;
  simulate::RunReport report;
  view::Timeline timeline;
  core::Status status;
};

}  // namespace ripeline::testing_support
