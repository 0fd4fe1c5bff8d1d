#include "simulate/measured.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "trace/beside.h"

namespace ripeline::simulate {
namespace {

using core::Status;
using core::StatusCode;

template <class List>
const auto& at(const List& list, int i) {
  return list[static_cast<std::size_t>(i)];
}

double nanoseconds(core::Time from, core::Time to) {
  return static_cast<double>((to - from).count());
}

// The names as text: `a, b, c and 7 more`.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::pair<int, int> ranks_of(const core::ProgramFacts& facts, const core::EdgeFacts& edge) {
  return {at(facts.lanes, edge.producer).rank, at(facts.lanes, edge.consumer).rank};
}

// Removes the first steps; fails if none remain.
Status skip(std::set<std::int64_t>& steps, std::int64_t first) {
  const auto found = static_cast<std::int64_t>(steps.size());
  if (found == 0) return {StatusCode::invalid, "no task ran in it"};
  if (found <= first) {
    return {StatusCode::invalid,
            fmt::format("steps in it: {}; with --skip-steps {}, none remains", found, first)};
  }
  steps.erase(steps.begin(), std::next(steps.begin(), first));
  return {};
}

}  // namespace

void Measurement::Spread::add(double value) {
  ++count;
  const double before = value - mean;
  mean += before / static_cast<double>(count);
  squares += before * (value - mean);
}

double Measurement::Spread::deviation() const {
  return count < 2 ? 0 : std::sqrt(squares / static_cast<double>(count - 1));
}

void Measurement::begin(const trace::About& about) {
  const core::ProgramFacts& facts = about.facts();
  begun_ = true;
  program_ = facts.name;
  hash_ = facts.hash;
  unit_ = about.run.unit;
  for (const core::OpFacts& op : facts.ops) ops_.emplace_back(op.name);
  for (const core::LaneFacts& lane : facts.lanes) tasks_[{lane.op, lane.stage}];
  for (const core::EdgeFacts& edge : facts.edges) {
    const auto ranks = ranks_of(facts, edge);
    if (ranks.first != ranks.second) latency_[ranks];
  }
}

void Measurement::begin(const trace::TorchTrace& trace) {
  begun_ = true;
  torch_ = Torch{.ranks = trace.ranks, .on_gpu = trace.on_gpu, .seen = {}};
  unit_ = *unit_named("us");
  ops_ = {"F", "I", "W", "B"};
}

Status Measurement::add(const trace::File& file, std::int64_t skip_steps) {
  const core::ProgramFacts& facts = file.about.facts();
  if (torch_) return {StatusCode::refused, "it is of Ripeline, and the trace before it of PyTorch"};
  if (begun_ && facts.hash != hash_) {
    return {StatusCode::refused,
            fmt::format("it is of another program, {}, than the trace before it: of {}", facts.name,
                        program_)};
  }
  if (const trace::Unit& unit = file.about.run.unit; begun_ && unit != unit_) {
    return {StatusCode::refused,
            fmt::format("its unit is {} ({} ns), and that of the trace before it {} ({} ns)",
                        unit.name, unit.nanoseconds, unit_.name, unit_.nanoseconds)};
  }
  std::set<std::int64_t> steps;
  for (const trace::TaskEvent& e : file.record.tasks) {
    if (e.end < e.start) return {StatusCode::invalid, "a task in it ends before it starts"};
    steps.insert(e.step);
  }
  if (Status status = skip(steps, skip_steps); !status.ok()) return status;

  if (!begun_) begin(file.about);
  const std::vector<bool> beside = trace::started_beside(facts, file.record.tasks);
  for (std::size_t i = 0; i < file.record.tasks.size(); ++i) {
    const trace::TaskEvent& e = file.record.tasks[i];
    if (!steps.contains(e.step)) continue;
    const core::LaneFacts& lane = at(facts.lanes, e.task.lane);
    tasks_[{lane.op, lane.stage}].add(nanoseconds(e.start, e.end));
    if (!beside.empty() && beside[i]) ++beside_;
  }
  for (const trace::MessageEvent& e : file.record.messages) {
    if (!steps.contains(e.step)) continue;
    const auto ranks = ranks_of(facts, at(facts.edges, e.message.edge));
    if (ranks.first == ranks.second) continue;
    // Clocks of hosts differ by up to half a round trip, so a message may seem to arrive too early.
    latency_[ranks].add(std::max(0.0, nanoseconds(e.sent, e.arrived)));
  }
  return {};
}

Status Measurement::add(const trace::TorchTrace& trace, std::int64_t skip_steps) {
  if (begun_ && !torch_) {
    return {StatusCode::refused, "it is of PyTorch, and the trace before it of Ripeline"};
  }
  std::set<std::int64_t> steps;
  for (const trace::TorchTask& task : trace.tasks) {
    if (task.end < task.start) return {StatusCode::invalid, "a task in it ends before it starts"};
    steps.insert(task.step);
  }
  if (Status status = skip(steps, skip_steps); !status.ok()) return status;
  if (torch_ && torch_->seen.contains(trace.rank)) {
    return {
        StatusCode::refused,
        fmt::format("it is of rank {}, as a trace before it: one file of each rank was expected",
                    trace.rank)};
  }
  if (torch_ && torch_->on_gpu != trace.on_gpu) {
    return {StatusCode::refused,
            fmt::format("its tasks ran {}, and those of the trace before it did not",
                        trace.on_gpu ? "on a GPU" : "on the host")};
  }
  std::set<std::int64_t> common = steps;
  if (trace.marks_steps && torch_ && torch_->steps) {
    std::erase_if(common, [this](std::int64_t step) { return !torch_->steps->contains(step); });
    if (common.empty()) {
      return {StatusCode::refused,
              fmt::format("its steps are {} to {}, and the traces before it have none of them: "
                          "traces of the same steps were expected",
                          *steps.begin(), *steps.rbegin())};
    }
  }

  if (!begun_) begin(trace);
  torch_->seen.insert(trace.rank);
  if (trace.marks_steps) torch_->steps = common;
  for (const trace::TorchTask& task : trace.tasks) {
    if (!steps.contains(task.step)) continue;
    const auto op = std::find(ops_.begin(), ops_.end(), task.op) - ops_.begin();
    tasks_[{static_cast<int>(op), task.stage}].add(nanoseconds(task.start, task.end));
  }
  return {};
}

std::vector<std::string> Measurement::unknown_of_torch() const {
  std::vector<std::string> unknown = {
      torch_->on_gpu ? "costs are times of GPUs: from a task's first kernel to the end of its last"
                     : "costs are times of the host: from a task's first operator to its end",
      "traces of PyTorch have no latencies of messages: simulate takes 0, or what --latency says"};
  if (const auto seen = static_cast<int>(torch_->seen.size()); seen < torch_->ranks) {
    unknown.push_back(
        fmt::format("of {} ranks, {} {} a trace: a stage of which no task is in it has the "
                    "program's cost",
                    torch_->ranks, seen, seen == 1 ? "has" : "have"));
  }
  return unknown;
}

Measured Measurement::result() const {
  const double one = static_cast<double>(unit_.nanoseconds);
  Measured measured;
  if (torch_) measured.unknown = unknown_of_torch();
  Profile& profile = measured.profile;
  profile.unit = unit_named(unit_.name).value_or(*unit_named("ms"));
  std::map<int, std::vector<std::string>> never;  // by op, its stages without a task
  for (const auto& [of, spread] : tasks_) {
    if (spread.count == 0) {
      never[of.first].push_back(std::to_string(of.second));
      continue;
    }
    profile.tasks.push_back({.op = at(ops_, of.first),
                             .stage = of.second,
                             .microbatch = std::nullopt,
                             .mean = spread.mean / one,
                             .spread = spread.deviation() / one});
  }
  std::vector<std::string> silent;
  for (const auto& [ranks, spread] : latency_) {
    if (spread.count == 0) {
      silent.push_back(fmt::format("{} to {}", ranks.first, ranks.second));
      continue;
    }
    profile.links.push_back({.from = ranks.first,
                             .to = ranks.second,
                             .latency = spread.mean / one,
                             .spread = spread.deviation() / one});
  }
  for (const auto& [op, stages] : never) {
    measured.unknown.push_back(
        fmt::format("no task of {} ran at stage {}: there it has the program's cost", at(ops_, op),
                    listed(stages)));
  }
  if (!silent.empty()) {
    measured.unknown.push_back(
        fmt::format("no message went from rank {}: there the latency is 0", listed(silent)));
  }
  if (beside_ > 0) {
    measured.unknown.push_back(
        fmt::format("{} tasks started beside another on their engine: what both then took "
                    "longer is in the costs",
                    beside_));
  }
  if (!profile.links.empty()) {
    measured.unknown.push_back(
        "a trace has no sizes of messages: the latency of a link is that of whole messages, with "
        "no bandwidth");
  }
  return measured;
}

}  // namespace ripeline::simulate
