#include "trace/torch_trace.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "trace/torch_events.h"

namespace ripeline::trace {
namespace {

using core::Status;
using core::StatusCode;

// Removes a number from the beginning of the text and returns it.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Reads the name of a mark, `PP:2F0`; nullopt unless it is of exactly one action that computes.
std::optional<TorchTask> task_of(std::string_view name) {
  name.remove_prefix(3);
  const auto stage = take_number(name);
  if (!stage || name.empty() || std::string_view("FIWB").find(name[0]) == name.npos) {
    return std::nullopt;
  }
  const std::string op(name.substr(0, 1));
  name.remove_prefix(1);
  const auto microbatch = take_number(name);
  if (!microbatch || !name.empty()) return std::nullopt;
  return TorchTask{.op = op, .stage = *stage, .microbatch = *microbatch};
}

// Makes the trace from the events that were found.
class Tasks {
 public:
  Tasks(TorchEvents& found, TorchTrace& trace) : found_(found), trace_(trace) {}

  Status make() {
    trace_.rank = found_.rank;
    trace_.ranks = found_.ranks;
    trace_.on_gpu = !found_.work.empty();
    trace_.marks_steps = !found_.steps.empty();
    if (found_.rank < 0) {
      return invalid(
          "it does not say its rank, as 'distributedInfo' does of a profiler that starts after "
          "torch.distributed.init_process_group()");
    }
    by_start(found_.actions);
    by_start(found_.steps);
    std::sort(found_.operators.begin(), found_.operators.end());
    std::sort(found_.launches.begin(), found_.launches.end());
    if (Status s = take_marks(); !s.ok()) return s;
    if (Status s = trace_.on_gpu ? time_on_gpu() : time_on_host(); !s.ok()) return s;
    note_sharding();
    return give_steps();
  }

 private:
  static Status invalid(const std::string& what) { return {StatusCode::invalid, what}; }
  static void by_start(std::vector<Mark>& marks) {
    std::stable_sort(marks.begin(), marks.end(),
                     [](const Mark& a, const Mark& b) { return a.start < b.start; });
  }
  // The mark at that time, or null; marks do not overlap.
  static const Mark* mark_at(const std::vector<Mark>& marks, std::int64_t time) {
    const auto after =
        std::upper_bound(marks.begin(), marks.end(), time,
                         [](std::int64_t value, const Mark& mark) { return value < mark.start; });
    if (after == marks.begin() || std::prev(after)->end < time) return nullptr;
    return &*std::prev(after);
  }

  // Makes a task, still without times, for each mark of one task; drops all other marks.
  Status take_marks() {
    std::size_t together = 0;
    std::vector<Mark> of_tasks;
    for (Mark& mark : found_.actions) {
      if (mark.name.starts_with("PP:(")) ++together;
      if (mark.name.ends_with("UNSHARD")) unshards_.push_back(mark);
      const auto task = task_of(mark.name);
      if (!task) continue;
      trace_.tasks.push_back(*task);
      of_tasks.push_back(std::move(mark));
    }
    found_.actions = std::move(of_tasks);
    if (together > 0) {
      trace_.notes.push_back(std::to_string(together) +
                             " marks are of two tasks at once (OVERLAP_F_B): they give no costs");
    }
    if (!trace_.tasks.empty()) return {};
    if (together > 0) return invalid("all of its marks are of two tasks at once (OVERLAP_F_B)");
    constexpr const char* kInstead =
        ". Record a schedule that runs actions, which marks them as PP:2F0: with one stage on each "
        "rank, ScheduleInterleaved1F1B([stage], …) has the same F and B";
    return invalid((found_.has_simple_marks
                        ? "its marks 'Forward 0' and 'Backward 0', as ScheduleGPipe makes them, "
                          "name no stage, and the wait for the message is in them"
                        : "no task of torch.distributed.pipelining is marked in it, as in runs of "
                          "Schedule1F1B") +
                   std::string(kInstead));
  }

  Status time_on_host() {
    if (found_.has_nccl) {
      return invalid(
          "messages went by NCCL, and no kernel is in it: record with ProfilerActivity.CUDA too");
    }
    bool any = false;
    for (std::size_t i = 0; i < trace_.tasks.size(); ++i) {
      const Mark& mark = found_.actions[i];
      const auto first = first_operator(mark);
      any = any || first;
      set_times(i, first.value_or(mark.end), mark.end);
    }
    if (!any) {
      return invalid(
          "no operator ('cpu_op') is within its marks: record with ProfilerActivity.CPU");
    }
    return {};
  }

  // The start of the first operator within the mark; nullopt if there is none.
  std::optional<std::int64_t> first_operator(const Mark& mark) const {
    const auto first = std::lower_bound(found_.operators.begin(), found_.operators.end(),
                                        Operator{mark.thread, mark.start});
    const bool within =
        first != found_.operators.end() && first->thread == mark.thread && first->start <= mark.end;
    return within ? std::optional(first->start) : std::nullopt;
  }

  Status time_on_gpu() {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans(trace_.tasks.size(), {kNone, kNone});
    bool any = false;
    for (const GpuWork& work : found_.work) {
      const auto launch = std::lower_bound(found_.launches.begin(), found_.launches.end(),
                                           Launch{work.launch, kNone});
      if (launch == found_.launches.end() || launch->id != work.launch) continue;
      const Mark* mark = mark_at(found_.actions, launch->at);
      if (mark == nullptr) continue;
      auto& [start, end] = spans[static_cast<std::size_t>(mark - found_.actions.data())];
      start = start == kNone ? work.start : std::min(start, work.start);
      end = std::max(end, work.end);
      any = true;
    }
    if (!any) {
      return invalid(
          "kernels are in it, and none was launched within a task's mark: the launches "
          "('cuda_runtime') of its marks were expected");
    }
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const auto [start, end] = spans[i];
      const std::int64_t nothing = found_.actions[i].end;
      set_times(i, start == kNone ? nothing : start, start == kNone ? nothing : end);
    }
    return {};
  }

  void set_times(std::size_t i, std::int64_t start, std::int64_t end) {
    trace_.tasks[i].start = core::Time{start};
    trace_.tasks[i].end = core::Time{end};
  }

  // Gives tasks their steps, and drops tasks outside all steps.
  Status give_steps() {
    if (found_.steps.empty()) {
      count_steps();
      return {};
    }
    std::vector<TorchTask> within;
    for (std::size_t i = 0; i < trace_.tasks.size(); ++i) {
      const Mark* mark = mark_at(found_.steps, found_.actions[i].start);
      if (mark == nullptr) continue;
      std::string_view number = mark->name;
      number.remove_prefix(number.find('#') + 1);
      trace_.tasks[i].step = take_number(number).value_or(0);
      within.push_back(std::move(trace_.tasks[i]));
    }
    if (within.empty()) return invalid("no task is within its marks of steps, ProfilerStep#…");
    if (const std::size_t outside = trace_.tasks.size() - within.size(); outside > 0) {
      trace_.notes.push_back(std::to_string(outside) +
                             " tasks outside its marks of steps, ProfilerStep#…, are left out");
    }
    trace_.tasks = std::move(within);
    return {};
  }

  void count_steps() {
    std::set<std::tuple<std::string, int, int>> ran;
    std::int64_t step = 0;
    for (TorchTask& task : trace_.tasks) {
      if (!ran.emplace(task.op, task.stage, task.microbatch).second) {
        ++step;
        ran = {{task.op, task.stage, task.microbatch}};
      }
      task.step = step;
    }
  }

  // Adds a note if stages are sharded; without FSDP, no operator runs within the marks UNSHARD.
  void note_sharding() {
    const bool sharded = std::any_of(unshards_.begin(), unshards_.end(), [this](const Mark& mark) {
      return first_operator(mark).has_value();
    });
    if (!sharded) return;
    trace_.notes.push_back(
        "stages are sharded (FSDP): in the first task after an UNSHARD, the wait for its message "
        "is in the cost");
  }

  TorchEvents& found_;
  TorchTrace& trace_;
  std::vector<Mark> unshards_;
};

}  // namespace

core::StatusOr<TorchTrace> read_torch_trace(const std::string& path) {
  TorchTrace made;
  auto events = read_events(path);
  const Status status = events.ok() ? Tasks(events.value(), made).make() : events.status();
  if (!status.ok()) return Status(status.code(), path + ": " + status.message());
  for (std::string& note : made.notes) note = path + ": " + note;
  return made;
}

}  // namespace ripeline::trace
