#include "view/explain.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/print.h"
#include "view/chain_text.h"
#include "view/figures.h"

namespace ripeline::view {
using core::Time;
using Why = Reason::Why;

std::string text_of(const Timeline& timeline, const Reason& reason) {
  switch (reason.why) {
    case Why::nothing:
      return "waited for nothing";
    case Why::engine:
      return "waited for its engine, which ran " + box_name(timeline, reason.box);
    case Why::handover:
      return "waited for its engine, which handed over the message of " +
             box_name(timeline, reason.box);
    case Why::need:
      return "waited for " + box_name(timeline, reason.box);
    case Why::message:
      return "waited for the message of " + box_name(timeline, reason.box);
    case Why::room:
      return fmt::format("waited for room in {}, which {} gave back",
                         core::pool_name(timeline.facts(), reason.pool),
                         box_name(timeline, reason.box));
    case Why::turn:
      return "waited for the start of " + box_name(timeline, reason.box);
  }
  return {};
}

std::string explain(const Timeline& timeline, Reasons& reasons, int box) {
  const Box& b = timeline.box(box);
  const Reason& reason = reasons.of(box);
  std::string text = fmt::format("{} on rank {} starts at {} and ends at {}",
                                 box_name(timeline, box), timeline.row_of(box).rank,
                                 moment_text(timeline, b.start), moment_text(timeline, b.end));
  if (const std::string others = names_beside(timeline, box); !others.empty()) {
    text += ", beside " + others;
  }
  text += '\n';
  text += "it " + text_of(timeline, reason);
  if (reason.why != Why::nothing) text += " until " + moment_text(timeline, reason.at);
  if (const Time idle = timeline.idle_before(box); idle > Time{0}) {
    text += fmt::format("; its engine was idle for {}", text_of(timeline, idle));
    const Time held = held_before(timeline, box);
    if (held > Time{0}) {
      text += fmt::format(", of these held by its hint {}", text_of(timeline, held));
    }
  }
  text += '\n';
  if (reason.rest == reason.at) {
    text += "something else came at the same time, so that more than one cause must go\n";
  } else if (reason.why != Why::nothing && reason.rest >= Time{0}) {
    text += fmt::format("all else was there at {}\n", moment_text(timeline, reason.rest));
  }
  return text + "\nthe chain to it, from the start\n" + chain_text(timeline, reasons, box);
}

namespace {

constexpr int kMostRows = 40;  // rows in a table
constexpr std::size_t kCauses = static_cast<std::size_t>(trace::Cause::host) + 1;

// The time of an engine, from begin() to end(), by what it was spent on.
struct Spent {
  Time tasks{0};
  std::array<Time, kCauses> idle{};
  Time before{0};  // before the engine's first task
  Time after{0};   // after its last task

  void add(const Spent& other) {
    tasks += other.tasks;
    before += other.before;
    after += other.after;
    for (std::size_t i = 0; i < kCauses; ++i) idle[i] += other.idle[i];
  }
};

Spent spent_on(const Timeline& timeline, const Row& row) {
  Spent spent;
  const Time whole = timeline.end() - timeline.begin();
  const auto boxes = timeline.boxes_of(row);
  if (boxes.empty()) {
    spent.before = whole;
    return spent;
  }
  spent.tasks = timeline.busy(row, timeline.begin(), timeline.end());
  spent.before = boxes.front().start - timeline.begin();
  Time last = boxes.back().end;
  for (const Row& half : timeline.rows_of_engine(row)) {
    if (half.first < half.end) last = std::max(last, timeline.boxes_of(half).back().end);
  }
  spent.after = timeline.end() - last;
  Time listed{0};
  for (const trace::IdleEvent& idle : timeline.idle_of(row)) {
    spent.idle[static_cast<std::size_t>(idle.cause)] += idle.end - idle.start;
    listed += idle.end - idle.start;
  }
  // The remaining time, such as the time between two steps, has an unknown cause.
  spent.idle[static_cast<std::size_t>(trace::Cause::unknown)] +=
      std::max(Time{0}, whole - spent.tasks - spent.before - spent.after - listed);
  return spent;
}

// A line for each engine; a column for each cause that any of them met.
std::string spent_text(const Timeline& timeline) {
  std::vector<std::pair<std::string, Spent>> engines;
  Spent all;
  for (const Row& row : timeline.rows()) {
    if (row.second) continue;
    engines.emplace_back(name_of(row), spent_on(timeline, row));
    all.add(engines.back().second);
  }
  std::vector<Cells> lines{{"", "tasks"}};
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    if (all.idle[cause] > Time{0}) {
      lines.front().push_back(trace::text_of(static_cast<trace::Cause>(cause)));
    }
  }
  lines.front().insert(lines.front().end(), {"before", "after"});
  const auto add = [&](const std::string& title, const Spent& spent) {
    Cells line{title, text_of(timeline, spent.tasks)};
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      if (all.idle[cause] > Time{0}) line.push_back(text_of(timeline, spent.idle[cause]));
    }
    line.insert(line.end(), {text_of(timeline, spent.before), text_of(timeline, spent.after)});
    lines.push_back(std::move(line));
  };
  for (int i = 0; i < std::min(kMostRows, static_cast<int>(engines.size())); ++i) {
    add(engines[static_cast<std::size_t>(i)].first, engines[static_cast<std::size_t>(i)].second);
  }
  if (engines.size() > 1) add("together", all);
  std::string text = aligned(lines, "  ");
  if (engines.size() > kMostRows) {
    text += fmt::format("  and {} lines more, of the other ranks\n", engines.size() - kMostRows);
  }
  return text;
}

int last_to_end(const Timeline& timeline) {
  int last = 0;
  for (int id = 1; id < static_cast<int>(timeline.boxes().size()); ++id) {
    if (timeline.box(id).end > timeline.box(last).end) last = id;
  }
  return last;
}

}  // namespace

std::string explain_all(const Timeline& timeline, Reasons& reasons) {
  if (timeline.boxes().empty()) return "nothing ran\n";
  const int last = last_to_end(timeline);
  return fmt::format(
             "{} {} from the first start to the last end; of that, by rank (each line adds up to "
             "it):\n",
             moment_text(timeline, timeline.end()), timeline.run().unit.name) +
         spent_text(timeline) +
         fmt::format("\n{} on rank {} ends last; the chain to it, from the start\n",
                     box_name(timeline, last), timeline.row_of(last).rank) +
         chain_text(timeline, reasons, last);
}

}  // namespace ripeline::view
