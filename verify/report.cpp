#include "verify/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/vocabulary/plural.h"
#include "spec/amounts.h"
#include "spec/indexing.h"
#include "verify/verdict.h"

namespace ripeline::verify {

using Json = nlohmann::json;
using spec::Event;
using spec::Program;

namespace {

constexpr std::size_t kMostWaitsShown = 8;
constexpr std::size_t kMostTasksInRow = 24;

std::string place(const spec::Source& source, spec::Span span) {
  if (span == spec::Span{}) return {};
  return fmt::format("{}:{}", source.name, spec::position_of(source, span.begin).line);
}

std::string range_text(const spec::MicrobatchRange& range) {
  if (!range.max) return range.min == 1 ? "any" : fmt::format("{} and more", range.min);
  if (*range.max == range.min) return std::to_string(range.min);
  return fmt::format("{} .. {}", range.min, *range.max);
}

// The names of the tasks that each rank of the member started, in order.
std::vector<std::vector<std::string>> starts_of(const Program& program, const Counterexample& run,
                                                int member) {
  std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(program.ranks));
  for (const Event& event : run.events) {
    if (event.what != Event::Do::start || event.member != member) continue;
    at(rows, at(program.lanes, event.lane).rank)
        .push_back(program.task_name(event.lane, event.microbatch));
  }
  return rows;
}

// A row for each rank: its tasks in the order of their starts, then its blocked tasks.
std::string timeline_of(const Program& program, const Counterexample& run, int member) {
  const std::vector<std::vector<std::string>> rows = starts_of(program, run, member);
  std::vector<std::string> blocked(rows.size());
  for (const BlockedTask& wait : run.waits) {
    if (wait.member != member && wait.member != kAllMembers) continue;
    const bool shown = wait.block.why == spec::Block::Why::room ||
                       wait.block.why == spec::Block::Why::kept || program.dispatch.in_order;
    if (!shown) continue;
    at(blocked, at(program.lanes, wait.lane).rank) +=
        "  >" + program.task_name(wait.lane, wait.microbatch);
  }
  std::string text;
  const std::size_t width = std::to_string(program.ranks - 1).size();
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    std::vector<std::string> row = rows[rank];
    if (row.size() > kMostTasksInRow) {
      const auto middle = static_cast<std::ptrdiff_t>(kMostTasksInRow / 2);
      row.erase(row.begin() + middle, row.end() - middle);
      row.insert(row.begin() + middle, "…");
    }
    if (row.empty()) row.emplace_back("–");
    std::string line = fmt::format("  rank {:>{}}  ", rank, width);
    for (const std::string& task : row) line += " " + task;
    text += line + blocked[rank] + "\n";
  }
  return text;
}

// The members' timelines; neighbouring members with equal timelines are drawn once.
std::string timeline(const Program& program, const Counterexample& run) {
  if (run.members == 1) return timeline_of(program, run, 0);
  std::string text;
  std::vector<std::string> drawn;
  for (int member = 0; member < run.members; ++member) {
    drawn.push_back(timeline_of(program, run, member));
  }
  for (int first = 0; first < run.members;) {
    int last = first;
    while (last + 1 < run.members && at(drawn, last + 1) == at(drawn, first)) ++last;
    text += first == last ? fmt::format("  member {}\n", first)
                          : fmt::format("  members {} .. {}\n", first, last);
    text += at(drawn, first);
    first = last + 1;
  }
  return text;
}

std::string at_member(const Counterexample& run, const BlockedTask& wait) {
  const bool one = run.members > 1 && wait.member != kAllMembers;
  return one ? fmt::format("member {}: ", wait.member) : "";
}

std::string waits_text(const Program& program, const Counterexample& run) {
  std::string text;
  for (std::size_t i = 0; i < run.waits.size() && i < kMostWaitsShown; ++i) {
    const BlockedTask& wait = run.waits[i];
    text += fmt::format("  {}{} waits for {}\n", at_member(run, wait),
                        program.task_name(wait.lane, wait.microbatch), wait.text);
  }
  if (run.waits.size() > kMostWaitsShown) {
    text += fmt::format("  and {} more\n", run.waits.size() - kMostWaitsShown);
  }
  return text;
}

std::string heading(const Obligation& o, const spec::Source& source) {
  std::string line = title_of(o);
  const std::string where = place(source, o.span);
  if (!where.empty()) line = fmt::format("{:<70} {}", line, where);
  return line + "\n";
}

int resource_named(const Program& program, const std::string& name) {
  const auto it = std::find_if(program.resources.begin(), program.resources.end(),
                               [&](const spec::Resource& of) { return of.name == name; });
  return static_cast<int>(it - program.resources.begin());
}

std::string peak_text(const Program& program, const Obligation& o) {
  std::string text;
  for (const auto& [name, peaks] : o.peak) {
    const int resource = resource_named(program, name);
    text +=
        fmt::format("  peak {}{}:", name, spec::is_split(program, resource) ? " per stage" : "");
    for (const auto& peak : peaks) {
      text += peak ? fmt::format(" {}{}", peak->reached ? "" : "at most ", peak->bound) : " grows";
    }
    const std::string_view unit = spec::unit_of_amounts(program, resource);
    text += unit.empty() ? "\n" : fmt::format(" {}\n", unit);
  }
  return text;
}

// The peak of each rank: the sum of the peaks of its pools, or null if one has no bounded peak.
Json rank_peaks(const Program& program, const std::string& name,
                const std::vector<std::optional<Peak>>& peaks) {
  std::vector<Json> ranks(static_cast<std::size_t>(program.ranks), 0);
  const int resource = resource_named(program, name);
  std::size_t i = 0;
  for (const spec::Pool& pool : program.pools) {
    if (pool.resource != resource || i == peaks.size()) continue;
    const std::optional<Peak>& peak = peaks[i++];
    Json& sum = at(ranks, pool.rank);
    sum = peak && !sum.is_null() ? Json(sum.get<std::int64_t>() + peak->bound) : Json();
  }
  return ranks;
}

// A verdict on every depth names the numbers of ranks and microbatches for which it holds.
std::string depth_text(const Program& program, const Verdict& verdict) {
  if (!verdict.every_rank_from) return {};
  const bool every = program.microbatches.min == 1 && !program.microbatches.max;
  return fmt::format("  for every number of ranks ≥ {}{}", *verdict.every_rank_from,
                     every ? " and every M" : "");
}

std::string obligation_text(const Program& program, const Obligation& o, const spec::Source& source,
                            const std::string& depth) {
  if (o.outcome == Outcome::proved) {
    if (o.seconds < 0)
      return fmt::format("  {:<12} proved   {}{}\n", name_of(o.kind), name_of(o.method), depth) +
             peak_text(program, o);
    return fmt::format("  {:<12} proved   {:<10} {:.3f} s{}\n", name_of(o.kind), name_of(o.method),
                       o.seconds, depth) +
           peak_text(program, o);
  }
  std::string text = "\n" + heading(o, source);
  if (o.counterexample && !o.counterexample->events.empty()) {
    text += "\n" + timeline(program, *o.counterexample);
  }
  text += o.reason + "\n";
  if (o.counterexample && o.kind == ObligationKind::deadlock)
    text += waits_text(program, *o.counterexample);
  if (o.other_choices) {
    text += fmt::format("\nWhat other choices reach, with {}:\n",
                        plural(o.other_choices->microbatches, "microbatch"));
    text += timeline(program, *o.other_choices);
    text += waits_text(program, *o.other_choices);
  }
  for (const ProvedRepair& repair : o.repairs) {
    const std::string where = place(source, repair.span);
    const std::string line = "Proved repair: " + repair.text + ".";
    text += where.empty() ? line + "\n" : fmt::format("{:<70} {}\n", line, where);
  }
  if (!o.repairs_note.empty()) text += o.repairs_note + "\n";
  return text;
}

Json repairs_json(const Obligation& o, const spec::Source& source) {
  Json repairs = Json::array();
  for (const ProvedRepair& repair : o.repairs) {
    repairs.push_back({{"what", repair.what}, {"text", repair.text}, {"proved", true}});
    if (repair.span == spec::Span{}) continue;
    const spec::Position where = spec::position_of(source, repair.span.begin);
    repairs.back()["line"] = where.line;
    repairs.back()["column"] = where.column;
  }
  return repairs;
}

Json event_json(const Program& program, const Event& event, int microbatches) {
  const std::string task = program.task_name(event.lane, event.microbatch);
  switch (event.what) {
    case Event::Do::start:
      return {{"do", "start"}, {"task", task}};
    case Event::Do::end:
      return {{"do", "end"}, {"task", task}};
    case Event::Do::arrive: {
      const spec::Edge& edge = at(program.edges, event.edge);
      const int needed_by = program.needed_by(edge, event.microbatch, microbatches);
      Json arrival = {{"do", "arrive"},
                      {"task", program.task_name(event.lane, needed_by)},
                      {"need", program.task_name(edge.producer, event.microbatch)},
                      {"from", at(program.lanes, edge.producer).rank}};
      // If a lane has two needs of one lane, their names do not differ, so the edge is added.
      const std::vector<int>& edges = at(program.lanes, event.lane).edges;
      const auto same = std::count_if(edges.begin(), edges.end(), [&](int other) {
        return at(program.edges, other).producer == edge.producer;
      });
      if (same > 1) arrival["edge"] = event.edge;
      return arrival;
    }
    case Event::Do::agree:
      return {{"do", "agree"}, {"task", task}};
  }
  return {};
}

// In a group, an event of a single member has the member's number.
Json event_json(const Program& program, const Counterexample& run, const Event& event) {
  Json json = event_json(program, event, run.microbatches);
  if (run.members > 1 && event.what != Event::Do::agree) json["member"] = event.member;
  return json;
}

Json run_json(const Program& program, const Counterexample& run) {
  Json events = Json::array();
  for (const Event& event : run.events) events.push_back(event_json(program, run, event));
  Json waits = Json::array();
  for (const BlockedTask& wait : run.waits) {
    waits.push_back({{"task", program.task_name(wait.lane, wait.microbatch)}, {"for", wait.text}});
    if (run.members > 1 && wait.member != kAllMembers) waits.back()["member"] = wait.member;
  }
  Json json = {{"microbatches", run.microbatches},
               {"fewest", run.fewest},
               {"events", std::move(events)},
               {"waits", std::move(waits)}};
  if (run.members > 1) json["members"] = run.members;
  return json;
}

Json obligation_json(const Program& program, const Obligation& o, const spec::Source& source) {
  Json json = {
      {"name", name_of(o.kind)}, {"verdict", name_of(o.outcome)}, {"method", name_of(o.method)}};
  if (o.seconds >= 0) json["seconds"] = o.seconds;
  if (!o.reason.empty()) json["reason"] = o.reason;
  if (o.span != spec::Span{}) {
    const spec::Position where = spec::position_of(source, o.span.begin);
    json["line"] = where.line;
    json["column"] = where.column;
  }
  if (o.counterexample) json["counterexample"] = run_json(program, *o.counterexample);
  if (o.other_choices) json["other_choices"] = run_json(program, *o.other_choices);
  if (!o.repairs.empty()) json["repairs"] = repairs_json(o, source);
  if (!o.repairs_note.empty()) json["repairs_note"] = o.repairs_note;
  if (o.kind == ObligationKind::memory && o.outcome == Outcome::proved) {
    Json ranks = Json::object();
    Json peak = Json::object();
    Json reached = Json::object();
    for (const auto& [resource, values] : o.peak) {
      ranks[resource] = rank_peaks(program, resource, values);
      peak[resource] = Json::array();
      reached[resource] = Json::array();
      for (const auto& value : values) {
        peak[resource].push_back(value ? Json(value->bound) : Json(nullptr));
        reached[resource].push_back(value ? Json(value->reached) : Json(nullptr));
      }
    }
    json["peak"] = std::move(ranks);
    json["pool_peak"] = std::move(peak);
    json["pool_peak_reached"] = std::move(reached);
  }
  return json;
}

// The obligations not proved, `once` first, since tasks wait for a task that an order leaves out.
std::vector<const Obligation*> to_be_read(const Verdict& verdict) {
  std::vector<const Obligation*> found;
  for (const Obligation& o : verdict.obligations) {
    if (o.outcome != Outcome::proved) found.push_back(&o);
  }
  std::stable_partition(found.begin(), found.end(), [](const Obligation* o) {
    return o->kind == ObligationKind::once && o->outcome == Outcome::refuted;
  });
  return found;
}

spec::Diagnostic wrong(const std::string& id, const std::string& message) {
  return {
      id, message, "give the JSON that `ripeline verify --format json` wrote for this program", {}};
}

// Reads the events of a recorded run, and turns names into lanes and needs into edges.
class RunReader {
 public:
  explicit RunReader(const Program& program) : program_(program) {}

  spec::Result<RecordedRun> read(const Json& json) const {
    RecordedRun run;
    run.microbatches = json.value("microbatches", 0);
    if (run.microbatches < 1) return wrong("replay-form", "the run has no count of microbatches");
    run.members = json.value("members", 1);
    for (const auto& entry : json.at("events")) {
      auto event = read_event(entry);
      if (event) event->member = entry.value("member", 0);
      if (!event || event->member < 0 || event->member >= run.members) {
        return wrong("replay-unknown-task",
                     fmt::format("this program has no event {}", entry.dump()));
      }
      run.events.push_back(*event);
    }
    return run;
  }

 private:
  std::optional<spec::Task> task(const std::string& name) const {
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const std::string prefix = program_.lane_name(lane);
      if (name.size() <= prefix.size() || !name.starts_with(prefix)) continue;
      const std::string rest = name.substr(prefix.size());
      const bool digits = rest.size() < 9 && std::all_of(rest.begin(), rest.end(), [](char c) {
                            return c >= '0' && c <= '9';
                          });
      if (!digits) continue;
      const spec::Share& share = at(program_.lanes, lane).share;
      const int microbatch = std::stoi(rest);
      if (!share.has(microbatch)) return std::nullopt;
      return spec::Task{lane, share.below(microbatch)};
    }
    return std::nullopt;
  }

  std::optional<Event> read_event(const Json& entry) const {
    const std::string what = entry.at("do").get<std::string>();
    const auto subject = task(entry.at("task").get<std::string>());
    if (!subject) return std::nullopt;
    Event event{.what = Event::Do::start, .lane = subject->lane, .microbatch = subject->microbatch};
    if (what == "start") return event;
    event.what = Event::Do::end;
    if (what == "end") return event;
    event.what = Event::Do::agree;
    if (what == "agree") return event;
    event.what = Event::Do::arrive;
    const auto producer = task(entry.at("need").get<std::string>());
    if (what != "arrive" || !producer) return std::nullopt;
    event.microbatch = producer->microbatch;
    const int named = entry.value("edge", -1);
    for (const int edge : at(program_.lanes, event.lane).edges) {
      const bool is_it = named < 0 || named == edge;
      if (is_it && at(program_.edges, edge).producer == producer->lane) event.edge = edge;
    }
    if (event.edge < 0) return std::nullopt;
    return event;
  }

  const Program& program_;
};

}  // namespace

std::string title_of(const Obligation& o) {
  std::string title = fmt::format("{}: {}", name_of(o.outcome), name_of(o.kind));
  if (o.counterexample) {
    title += fmt::format(", with {}", plural(o.counterexample->microbatches, "microbatch"));
    if (o.counterexample->fewest) title += " (the fewest)";
  }
  return title;
}

std::string report_text(const Program& program, const spec::Source& source,
                        const Verdict& verdict) {
  std::string text = fmt::format(
      "{}: {}, for {}{} ({})\n", source.name, name_of(verdict.outcome),
      verdict.every_rank_from ? "every number of ranks and " : "",
      program.microbatches.max == program.microbatches.min
          ? plural(program.microbatches.min, "microbatch")
          : range_text(program.microbatches) +
                (program.microbatches.max ? " microbatches" : " number of microbatches"),
      verdict.solver);
  const std::string depth = depth_text(program, verdict);
  // The proved obligations are first, in one block; then come the others, which the user must read.
  for (const Obligation& o : verdict.obligations) {
    if (o.outcome == Outcome::proved) text += obligation_text(program, o, source, depth);
  }
  for (const Obligation* o : to_be_read(verdict)) {
    text += obligation_text(program, *o, source, depth);
  }
  if (verdict.assumptions.empty()) return text;
  text += "\nassuming:\n";
  for (const std::string& a : verdict.assumptions) text += "  " + a + "\n";
  return text;
}

Json report_json(const Program& program, const spec::Source& source, const Verdict& verdict) {
  Json params = Json::object();
  for (const auto& [name, value] : program.params) params[name] = value;
  if (verdict.every_rank_from) params["ranks"] = "any";
  Json obligations = Json::array();
  for (const Obligation& o : verdict.obligations) {
    obligations.push_back(obligation_json(program, o, source));
    if (!verdict.every_rank_from) continue;  // each depth has peaks of its own
    obligations.back().erase("peak");
    obligations.back().erase("pool_peak");
    obligations.back().erase("pool_peak_reached");
  }
  Json json = {{"schema", "ripeline.verify/2"},
               {"program", program.name},
               {"params", std::move(params)},
               {"hash", spec::hash_text(program.hash)},
               {"verdict", name_of(verdict.outcome)},
               {"microbatches", range_text(program.microbatches)},
               {"obligations", std::move(obligations)},
               {"assumptions", verdict.assumptions},
               {"solver", verdict.solver}};
  if (verdict.every_rank_from) json["least_ranks"] = *verdict.every_rank_from;
  return json;
}

std::optional<RecordedRun> recorded_run(const Verdict& verdict) {
  for (const auto run : {&Obligation::counterexample, &Obligation::other_choices}) {
    for (const Obligation& o : verdict.obligations) {
      if (const auto& r = o.*run) return RecordedRun{r->microbatches, r->events, r->members};
    }
  }
  return std::nullopt;
}

spec::Result<RecordedRun> read_counterexample(const Program& program, const Json& run) {
  try {
    return RunReader(program).read(run);
  } catch (const nlohmann::json::exception&) {
    return wrong("replay-form", "it is not such an object");
  }
}

spec::Result<RecordedRun> read_run(const Program& program, std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.value("hash", "") != spec::hash_text(program.hash)) {
      return wrong("replay-other-program", "the run was recorded for another program");
    }
    for (const char* kind : {"counterexample", "other_choices"}) {
      for (const auto& obligation : json.at("obligations")) {
        if (!obligation.contains(kind) || obligation.at(kind).at("events").empty()) continue;
        return RunReader(program).read(obligation.at(kind));
      }
    }
    return wrong("replay-no-run", "it has no run");
  } catch (const nlohmann::json::exception&) {
    return wrong("replay-form", "it is not such an object");
  }
}

}  // namespace ripeline::verify
