#include "runtime/trace.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/print.h"

namespace ripeline::runtime {
namespace {

using nlohmann::json;

double microseconds(core::Time time) { return static_cast<double>(time.count()) / 1000; }

const char* name_of(core::Engine engine) {
  constexpr std::array<const char*, 3> kNames = {"compute", "copy_out", "copy_in"};
  return kNames[static_cast<std::size_t>(engine)];
}

void append(std::string& text, const json& event) {
  if (!text.empty()) text += ",\n";
  text += event.dump();
}

}  // namespace

void Trace::task(std::int64_t step, core::Task task, core::Time start, core::Time end) {
  tasks_.push_back({step, task, start, end});
}

void Trace::arrival(std::int64_t step, core::Message message, core::Time at) {
  arrivals_.push_back({step, message, at});
}

std::string Trace::events() const {
  std::string text;
  append(text, {{"ph", "M"},
                {"name", "process_name"},
                {"pid", rank_},
                {"args", {{"name", "rank " + std::to_string(rank_)}}}});
  for (const TaskEvent& e : tasks_) {
    const core::LaneFacts& lane = facts_.lanes[static_cast<std::size_t>(e.task.lane)];
    const core::OpFacts& op = facts_.ops[static_cast<std::size_t>(lane.op)];
    append(text, {{"ph", "X"},
                  {"name", core::task_name(facts_, e.task)},
                  {"cat", std::string(op.name)},
                  {"pid", rank_},
                  {"tid", name_of(lane.engine)},
                  {"ts", microseconds(e.start)},
                  {"dur", microseconds(e.end - e.start)},
                  {"args",
                   {{"step", e.step}, {"stage", lane.stage}, {"microbatch", e.task.microbatch}}}});
  }
  for (const ArrivalEvent& e : arrivals_) {
    const core::EdgeFacts& edge = facts_.edges[static_cast<std::size_t>(e.message.edge)];
    const core::Task producer{edge.producer, e.message.microbatch};
    const core::Task consumer{edge.consumer, e.message.microbatch};
    append(text, {{"ph", "i"},
                  {"s", "t"},
                  {"name", core::task_name(facts_, producer) + " arrives"},
                  {"cat", "message"},
                  {"pid", rank_},
                  {"tid", "messages"},
                  {"ts", microseconds(e.at)},
                  {"args", {{"step", e.step}, {"for", core::task_name(facts_, consumer)}}}});
  }
  return text;
}

core::Status write_trace(const std::string& path, const core::ProgramFacts& facts,
                         const std::vector<std::string>& events_by_rank) {
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(facts.hash));
  const json about = {{"schema", "ripeline.trace/1"},
                      {"program", std::string(facts.name)},
                      {"hash", hash.data()},
                      {"proved", facts.proved},
                      {"ranks", facts.ranks}};
  std::ofstream out(path, std::ios::binary);
  out << "{\"displayTimeUnit\":\"ms\",\"otherData\":" << about.dump() << ",\"traceEvents\":[\n";
  for (std::size_t rank = 0; rank < events_by_rank.size(); ++rank) {
    out << (rank == 0 ? "" : ",\n") << events_by_rank[rank];
  }
  out << "\n]}\n" << std::flush;
  if (out) return {};
  return {core::StatusCode::failed, path + ": cannot be written: " + std::strerror(errno)};
}

}  // namespace ripeline::runtime
