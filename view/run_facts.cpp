#include "view/run_facts.h"

#include <fmt/format.h>

#include "view/figures.h"

namespace ripeline::view {
namespace {

std::string params_text(const trace::RunInfo& run) {
  std::string text;
  for (const auto& [name, value] : run.params) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string times_text(const trace::RunInfo& run) {
  const std::string source = trace::name_of(run.source);
  return run.costs.empty() ? source : source + ": " + run.costs;
}

}  // namespace

std::vector<RunFact> run_facts(const Panel& panel) {
  const Timeline& timeline = *panel.timeline;
  const core::ProgramFacts& program = timeline.facts();
  const trace::RunInfo& run = timeline.run();
  const Figures found = figures(timeline);
  std::vector<RunFact> facts;
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) facts.push_back({std::move(name), std::move(value)});
  };
  add("program", std::string(program.name));
  add("ranks", std::to_string(program.ranks));
  add("params", params_text(run));
  add("dispatch", run.dispatch);
  add("microbatches", std::to_string(run.microbatches));
  if (timeline.last_step() > timeline.first_step()) {
    add("steps", fmt::format("{} to {}", timeline.first_step(), timeline.last_step()));
  }
  add("wall", fmt::format("{:.6g}{}", found.makespan, panel.stuck.any() ? ", deadlocked" : ""));
  add("bubble by wall", bubble_text(found.makespan_bubble, found.makespan));
  if (found.span < found.makespan) {
    add("span", fmt::format("{:.6g}", found.span));
    add("bubble by span", bubble_text(found.span_bubble, found.span));
  }
  for (const Figures::Peak& peak : found.peaks) {
    add("peak " + peak.resource, range_text(peak));
  }
  add("times", times_text(run));
  add("unit", run.unit.name);
  return facts;
}

}  // namespace ripeline::view
