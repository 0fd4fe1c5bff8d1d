// Laws of the view: everything in a simulated run has a reason.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "lower/facts.h"
#include "proptests/seeds.h"
#include "simulate/interpreter.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "tests/support/random_program.h"
#include "view/html.h"
#include "view/reasons.h"
#include "view/stuck.h"
#include "view/svg.h"

namespace ripeline::proptests {
namespace {

using core::Time;

struct Ran {
  view::Timeline timeline;
  simulate::RunReport report;
};

Ran random_run() {
  testing_support::RandomProgramOptions options;
  options.max_ranks = 3;
  options.links = options.once = options.before = options.engines = options.shares = true;
  options.keeping = options.pairs = options.hints = true;
  const std::string text = testing_support::random_program_text(any_seed(), options);
  RC_LOG(text);
  auto program = spec::compile({"random.ripe", text});
  RC_ASSERT(program.ok());
  RC_PRE(program.value().unsupported.empty());
  const auto range = program.value().microbatches;
  const int microbatches = any_of(range.min, range.max.value_or(7) + 1);
  simulate::TimingOptions timing_options;
  RC_ASSERT(simulate::Jitter::parse(*rc::gen::element("", "lognormal=0.5", "tails=20:9,fifo"),
                                    timing_options.jitter)
                .ok());
  timing_options.latency = *rc::gen::element(0.0, 0.05, 3.0);
  simulate::Timing timing;
  RC_ASSERT(simulate::Timing::make(program.value(), microbatches, timing_options, timing).ok());
  const core::OwnedFacts storage = lower::facts_of(program.value());
  simulate::Simulator simulator(storage.facts(), [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(program.value(), storage.facts(), rank);
  });
  trace::File file;
  file.about = trace::About(storage.facts(), {.microbatches = microbatches});
  const simulate::RunReport report =
      simulator.run(microbatches, timing, {.record = &file.record, .causes = true});
  RC_PRE(report.status.ok());
  Ran ran;
  ran.report = report;
  RC_ASSERT(view::Timeline::make(std::move(file), ran.timeline).message() == "");
  return ran;
}

RC_GTEST_PROP(View, every_task_of_a_simulated_run_starts_when_what_it_waited_for_came, ()) {
  const Ran ran = random_run();
  view::Reasons reasons(ran.timeline);
  for (int box = 0; box < static_cast<int>(ran.timeline.boxes().size()); ++box) {
    const view::Reason& reason = reasons.of(box);
    RC_ASSERT(reason.at == ran.timeline.box(box).start);
    RC_ASSERT(reason.why != view::Reason::Why::nothing || reason.at == Time{0});
  }
}

RC_GTEST_PROP(View, chains_reach_from_the_start_to_their_task_without_a_gap, ()) {
  const Ran ran = random_run();
  view::Reasons reasons(ran.timeline);
  for (int box = 0; box < static_cast<int>(ran.timeline.boxes().size()); ++box) {
    Time at{0};
    for (const view::Link& link : view::chain_to(ran.timeline, reasons, box)) {
      RC_ASSERT(link.start == at);
      at = link.end;
    }
    RC_ASSERT(at == ran.timeline.box(box).end);
  }
}

RC_GTEST_PROP(View, who_waits_is_said_of_stuck_runs_and_of_no_other, ()) {
  const Ran ran = random_run();
  RC_ASSERT(view::stuck_at_end(ran.timeline).any() == ran.report.stuck);
}

// Time in which two tasks run at once on an engine counts once.
RC_GTEST_PROP(View, engines_are_as_busy_as_the_simulator_says, ()) {
  const Ran ran = random_run();
  const view::Timeline& timeline = ran.timeline;
  for (const view::Row& row : timeline.rows()) {
    if (row.second) continue;
    const auto& engines = ran.report.ranks[static_cast<std::size_t>(row.rank)];
    const simulate::EngineReport& engine = engines[static_cast<std::size_t>(row.engine)];
    RC_ASSERT(timeline.busy(row, timeline.begin(), timeline.end()) == engine.busy);
  }
}

RC_GTEST_PROP(View, pictures_of_any_run_are_the_same_each_time, ()) {
  const Ran ran = random_run();
  const view::Panel panel{"random", &ran.timeline, view::stuck_at_end(ran.timeline)};
  RC_ASSERT(view::svg({panel}) == view::svg({panel}));
  RC_ASSERT(view::html({panel}) == view::html({panel}));
}

}  // namespace
}  // namespace ripeline::proptests
