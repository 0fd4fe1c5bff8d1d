#include "view/run_facts.h"

#include <fmt/format.h>

#include "view/figures.h"

namespace ripeline::view {
namespace {

std::string params_text(const trace::Run& run) {
  std::string text;
  for (const auto& [name, value] : run.params) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string times_text(const trace::Run& run) {
  const std::string source = trace::name_of(run.source);
  return run.costs.empty() ? source : source + ": " + run.costs;
}

}  // namespace

std::vector<RunFact> run_facts(const Panel& panel) {
  const Timeline& timeline = *panel.timeline;
  const core::ProgramFacts& program = timeline.facts();
  const trace::Run& run = timeline.run();
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
  add("wall", fmt::format("{:.6g}{}", found.wall, panel.stuck.any() ? ", deadlocked" : ""));
  add("bubble by wall", bubble_text(found.wall_bubble, found.wall));
  if (found.span < found.wall) {
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
