#include "validate/run_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/amounts.h"

namespace ripeline::validate {
namespace {

using core::Time;
using Do = spec::Event::Do;
using nlohmann::json;

struct OutcomeName {
  const char* word;
  const char* text;
};
OutcomeName name_of(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::run:
      return {"run", "a run"};
    case RunOutcome::beginning:
      return {"beginning", "the beginning of a run"};
    case RunOutcome::refuted:
      return {"refuted", "no run"};
    case RunOutcome::unknown:
      break;
  }
  return {"unknown", "unknown whether a run"};
}

// The time of the first event of the trace.
Time begin_of(const trace::Record& record) {
  Time begin = Time::max();
  for (const trace::TaskEvent& e : record.tasks) begin = std::min(begin, e.chosen());
  for (const trace::MessageEvent& e : record.messages) begin = std::min(begin, e.arrived);
  return begin;
}

// The time from the first event of the trace to `at`, in the run's unit.
double in_units(const trace::File& file, Time at) {
  return static_cast<double>((at - begin_of(file.record)).count()) /
         static_cast<double>(file.about.run.unit.nanoseconds);
}

std::string event_name(const spec::Program& program, const spec::Event& event) {
  if (event.what == Do::arrive) {
    const int producer = at(program.edges, event.edge).producer;
    return fmt::format("arrive {} at {}", program.task_name(producer, event.microbatch),
                       program.lane_name(event.lane));
  }
  return (event.what == Do::start ? "start " : "end ") +
         program.task_name(event.lane, event.microbatch);
}

std::string wrong_text(const spec::Program& program, const trace::File& file,
                       const WrongStep& wrong) {
  if (!wrong.what.empty()) return fmt::format("\nrefuted: step {}. {}\n", wrong.step, wrong.what);
  std::string text = fmt::format("\nrefuted: step {}, after {} of its {} events\n\n", wrong.step,
                                 wrong.led, wrong.all);
  for (const Blocked& b : wrong.blocked) {
    text += fmt::format("{} rank {}   {} {}   ({:.6g} {})\n", b.is_cause ? ">" : " ", b.rank,
                        event_name(program, b.event.event), b.why, in_units(file, b.event.at),
                        file.about.run.unit.name);
  }
  return text;
}

// Per instance of each resource: the peak of the run, the proved bound and the capacity.
std::string peaks_text(const spec::Program& program, const core::ProgramFacts& facts,
                       const RunCheck& check) {
  std::string text;
  for (int resource = 0; resource < size_of(program.resources); ++resource) {
    std::string held;
    std::string proved;
    std::string capacity;
    bool has_proved = true;
    for (int pool = 0; pool < size_of(program.pools); ++pool) {
      const spec::Pool& p = at(program.pools, pool);
      if (p.resource != resource) continue;
      const std::int64_t bound = facts.pools[static_cast<std::size_t>(pool)].bound;
      held += fmt::format(" {}", at(check.peaks, pool));
      proved += fmt::format(" {}", bound);
      capacity += p.capacity ? fmt::format(" {}", *p.capacity) : " –";
      has_proved = has_proved && bound >= 0;
    }
    const std::string_view unit = spec::unit_of_amounts(program, resource);
    text += fmt::format("  peak {}{}{}:{}", at(program.resources, resource).name,
                        spec::is_split(program, resource) ? " per stage" : "",
                        unit.empty() ? "" : fmt::format(", {}", unit), held);
    if (has_proved) text += fmt::format("   proved:{}", proved);
    text += fmt::format("   capacity:{}\n", capacity);
  }
  return text;
}

}  // namespace

std::string report_text(const spec::Program& program, const trace::File& file,
                        const std::string& title, const RunCheck& check) {
  const core::ProgramFacts& facts = file.about.facts();
  std::string text = fmt::format("{}: {} of {}, {} (hash {})\n", title, name_of(check.outcome).text,
                                 program.name, facts.proved ? "proved" : "not proved where it ran",
                                 spec::hash_text(program.hash));
  const std::string fewer =
      check.fewer == 0 ? "" : fmt::format(", {} of them of fewer", check.fewer);
  text += fmt::format("  {}: {} whole step{} of {} microbatches{}, {} tasks, {} messages\n",
                      trace::name_of(file.about.run.source), check.steps,
                      check.steps == 1 ? "" : "s", file.about.run.microbatches, fewer,
                      file.record.tasks.size(), file.record.messages.size());
  if (!check.wrong) text += peaks_text(program, facts, check);
  if (!check.reason.empty()) {
    text += fmt::format("\n{}{}\n", check.outcome == RunOutcome::unknown ? "unknown: " : "",
                        check.reason);
  }
  if (check.wrong) text += wrong_text(program, file, *check.wrong);
  text += "\nassuming:\n";
  for (const std::string& a : check.assumptions) text += "  " + a + "\n";
  return text;
}

json report_json(const spec::Program& program, const trace::File& file, const RunCheck& check) {
  const core::ProgramFacts& facts = file.about.facts();
  json report = {{"schema", "ripeline.check-run/2"},
                 {"program", program.name},
                 {"hash", spec::hash_text(program.hash)},
                 {"proved", facts.proved},
                 {"source", trace::name_of(file.about.run.source)},
                 {"ranks", program.ranks},
                 {"microbatches", file.about.run.microbatches},
                 {"verdict", name_of(check.outcome).word},
                 {"steps", check.steps},
                 {"fewer", check.fewer},
                 {"tasks", file.record.tasks.size()},
                 {"messages", file.record.messages.size()},
                 {"assumptions", check.assumptions}};
  json peaks = json::object();
  for (int pool = 0; pool < size_of(program.pools); ++pool) {
    const spec::Pool& p = at(program.pools, pool);
    const std::int64_t bound = facts.pools[static_cast<std::size_t>(pool)].bound;
    peaks[at(program.resources, p.resource).name].push_back(
        {{"held", at(check.peaks, pool)},
         {"proved", bound < 0 ? json() : json(bound)},
         {"capacity", p.capacity ? json(*p.capacity) : json()}});
  }
  report["pools"] = std::move(peaks);
  if (!check.reason.empty()) report["reason"] = check.reason;
  if (!check.wrong) return report;
  report["step"] = check.wrong->step;
  if (!check.wrong->what.empty()) {
    report["reason"] = check.wrong->what;
    return report;
  }
  json blocked = json::array();
  for (const Blocked& b : check.wrong->blocked) {
    blocked.push_back({{"rank", b.rank},
                       {"event", event_name(program, b.event.event)},
                       {"reason", b.why},
                       {"cause", b.is_cause},
                       {"at", in_units(file, b.event.at)}});
  }
  report["unit"] = file.about.run.unit.name;
  report["led"] = check.wrong->led;
  report["events"] = check.wrong->all;
  report["blocked"] = std::move(blocked);
  return report;
}

}  // namespace ripeline::validate
