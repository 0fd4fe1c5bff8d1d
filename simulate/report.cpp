#include "simulate/report.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/print.h"
#include "core/vocabulary/index.h"
#include "spec/amounts.h"

namespace ripeline::simulate {
namespace {

using core::Time;
using nlohmann::json;
using spec::Program;

constexpr int kMostRows = 40;  // the most ranks in the text

double in_units(const ReportedRun& r, Time time) {
  return static_cast<double>(time.count()) / static_cast<double>(r.timing.unit().nanoseconds);
}

// A time in units, written as 12 rather than 12.0 if it is whole.
json number(const ReportedRun& r, Time time) {
  const std::int64_t unit = r.timing.unit().nanoseconds;
  if (time.count() % unit == 0) return time.count() / unit;
  return in_units(r, time);
}

double share(Time part, Time whole) {
  return whole.count() == 0
             ? 0
             : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

Time makespan_bubble(const RunReport& run) { return run.makespan - run.work; }

// The part of the makespan in which the compute engines were busy, over all ranks.
double utilisation(const RunReport& run) {
  Time busy{0};
  for (const auto& rank : run.ranks) busy += rank[0].busy;
  const auto ranks = static_cast<std::int64_t>(run.ranks.size());
  return share(busy, run.makespan * ranks);
}

struct Change {
  Time at;
  std::int64_t by;  // negative changes come first: ends make room for starts at the same time
  int rank;
};

std::vector<std::int64_t> peaks_of_split(const ReportedRun& r, int resource) {
  std::vector<Change> changes;
  for (const trace::TaskEvent& e : r.record.tasks) {
    const spec::Lane& lane = at(r.program.lanes, e.task.lane);
    for (const spec::Use& use : spec::uses_of(lane)) {
      if (at(r.program.pools, use.pool).resource != resource) continue;
      if (use.acquires > 0) changes.push_back({e.start, use.acquires, lane.rank});
      if (use.releases > 0) changes.push_back({e.end, -use.releases, lane.rank});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at != b.at ? a.at < b.at : a.by < b.by;
  });
  std::vector<std::int64_t> held(index(r.program.ranks), 0);
  std::vector<std::int64_t> peak = held;
  for (const Change& change : changes) {
    held[index(change.rank)] += change.by;
    peak[index(change.rank)] = std::max(peak[index(change.rank)], held[index(change.rank)]);
  }
  return peak;
}

Time idle_of(const EngineReport& engine, int cause) { return engine.idle[index(cause)]; }

// The causes for which any compute engine was idle.
std::vector<int> met_causes(const RunReport& run) {
  std::vector<int> met;
  for (int cause = 0; cause < kCauses; ++cause) {
    const bool any = std::any_of(run.ranks.begin(), run.ranks.end(), [&](const auto& rank) {
      return idle_of(rank[0], cause).count() > 0;
    });
    if (any) met.push_back(cause);
  }
  return met;
}

std::string rank_table(const ReportedRun& r, const std::vector<std::vector<std::int64_t>>& peaks) {
  const std::vector<int> causes = met_causes(r.run);
  std::string text = fmt::format("  {:>5} {:>7} {:>10} {:>10}", "rank", "tasks", "busy", "idle");
  for (const int cause : causes) {
    text += fmt::format(" {:>12}", trace::text_of(static_cast<trace::Cause>(cause)));
  }
  for (const spec::Resource& resource : r.program.resources) {
    text += fmt::format(" {:>12}", resource.name);
  }
  text += "\n";
  for (int rank = 0; rank < std::min(r.program.ranks, kMostRows); ++rank) {
    const EngineReport& e = r.run.ranks[index(rank)][0];
    text += fmt::format("  {:>5} {:>7} {:>10.6g} {:>10.6g}", rank, e.tasks, in_units(r, e.busy),
                        in_units(r, e.last - e.first - e.busy));
    for (const int cause : causes) {
      text += fmt::format(" {:>12.6g}", in_units(r, idle_of(e, cause)));
    }
    for (const auto& peak : peaks) text += fmt::format(" {:>12}", peak[index(rank)]);
    text += "\n";
  }
  if (r.program.ranks > kMostRows) {
    text += fmt::format("  … {} more ranks: --format json has all\n", r.program.ranks - kMostRows);
  }
  return text;
}

// The units of the resources whose names do not tell the unit.
std::string units_text(const Program& program) {
  std::string text;
  for (int resource = 0; resource < size_of(program.resources); ++resource) {
    const std::string_view unit = spec::unit_of_amounts(program, resource);
    if (unit.empty()) continue;
    text += fmt::format("{} {} in {}", text.empty() ? ":" : ",",
                        at(program.resources, resource).name, unit);
  }
  return text;
}

// The engines other than compute, which the table leaves out.
std::string other_engines_text(const ReportedRun& r) {
  std::string text;
  for (int engine = 1; engine < core::kEngines; ++engine) {
    std::int64_t tasks = 0;
    Time busy{0};
    for (const auto& rank : r.run.ranks) {
      tasks += rank[index(engine)].tasks;
      busy += rank[index(engine)].busy;
    }
    if (tasks == 0) continue;
    text += fmt::format("  {}: {} tasks, busy {:.6g} over all ranks\n",
                        core::kEngineNames[index(engine)], tasks, in_units(r, busy));
  }
  return text;
}

}  // namespace

std::vector<std::vector<std::int64_t>> peaks_by_rank(const ReportedRun& r) {
  std::vector<std::vector<std::int64_t>> peaks;
  for (int resource = 0; resource < static_cast<int>(r.program.resources.size()); ++resource) {
    if (spec::is_split(r.program, resource)) {
      peaks.push_back(peaks_of_split(r, resource));
      continue;
    }
    std::vector<std::int64_t> of(index(r.program.ranks), 0);
    for (std::size_t pool = 0; pool < r.program.pools.size(); ++pool) {
      const spec::Pool& p = r.program.pools[pool];
      if (p.resource == resource) of[index(p.rank)] = r.run.peaks[pool];
    }
    peaks.push_back(std::move(of));
  }
  return peaks;
}

std::string report_text(const ReportedRun& r) {
  const RunReport& run = r.run;
  std::string text =
      fmt::format("{}: {} ranks, {} microbatches, {} tasks, {} messages; {}\n", r.program.name,
                  r.program.ranks, r.microbatches, run.tasks, run.messages, r.timing.text());
  text += fmt::format(
      "  wall (makespan) {:.6g}   bubble by wall {:.6g} ({:.2f} %)   span {:.6g}   bubble by span "
      "{:.6g} ({:.2f} %)   utilisation {:.2f} %\n",
      in_units(r, run.makespan), in_units(r, makespan_bubble(run)),
      100 * share(makespan_bubble(run), run.makespan), in_units(r, run.span),
      in_units(r, run.bubble()), 100 * share(run.bubble(), run.span), 100 * utilisation(run));
  text += rank_table(r, peaks_by_rank(r)) + other_engines_text(r);
  text += "  busy and idle: between the rank's first task and its last; resources: the most held";
  text += units_text(r.program) + "\n";
  if (run.stuck) text += "deadlock: nothing runs, no message is on its way\n" + run.waiting;
  return text;
}

json report_json(const ReportedRun& r) {
  const RunReport& run = r.run;
  json j = {{"schema", "ripeline.simulate/2"},
            {"program", r.program.name},
            {"params", json::object()},
            {"hash", spec::hash_text(r.program.hash)},
            {"ranks", r.program.ranks},
            {"microbatches", r.microbatches},
            {"unit", r.timing.unit().name},
            {"seed", r.timing.draws() ? json(r.timing.seed()) : json()},
            {"proved", r.facts.proved},
            {"stuck", run.stuck},
            {"wall", number(r, run.makespan)},
            {"span", number(r, run.span)},
            {"work", number(r, run.work)},
            {"span_bubble", number(r, run.bubble())},
            {"span_bubble_rate", share(run.bubble(), run.span)},
            {"wall_bubble", number(r, makespan_bubble(run))},
            {"wall_bubble_rate", share(makespan_bubble(run), run.makespan)},
            {"utilisation", utilisation(run)},
            {"messages", run.messages},
            {"controls", run.controls},
            {"peak", json::object()}};
  for (const auto& [name, value] : r.program.params) j["params"][name] = value;
  const auto peaks = peaks_by_rank(r);
  for (std::size_t i = 0; i < peaks.size(); ++i) j["peak"][r.program.resources[i].name] = peaks[i];
  for (const auto& rank : run.ranks) {
    const EngineReport& e = rank[0];
    json idle = json::object();
    for (const int cause : met_causes(run)) {
      idle[trace::word_of(static_cast<trace::Cause>(cause))] = number(r, idle_of(e, cause));
    }
    j["by_rank"].push_back({{"tasks", e.tasks},
                            {"first", number(r, e.first)},
                            {"last", number(r, e.last)},
                            {"busy", number(r, e.busy)},
                            {"idle", idle}});
  }
  if (run.stuck) j["waiting"] = run.waiting;
  return j;
}

std::string tasks_csv(const ReportedRun& r) {
  std::string text = "task,op,stage,microbatch,rank,engine,start,end\n";
  for (const trace::TaskEvent& e : r.record.tasks) {
    const core::LaneFacts& lane = r.facts.lanes[index(e.task.lane)];
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n",
                   core::task_name(r.facts, e.task), r.facts.ops[index(lane.op)].name, lane.stage,
                   r.facts.microbatch_of(e.task), lane.rank, static_cast<int>(lane.engine),
                   in_units(r, e.start), in_units(r, e.end));
  }
  return text;
}

}  // namespace ripeline::simulate
