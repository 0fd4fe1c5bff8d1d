#include "view/explain.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/print.h"

namespace ripeline::view {
namespace {

using core::Time;
using Why = Reason::Why;

std::string name(const Timeline& timeline, int box) {
  return core::task_name(timeline.facts(), timeline.box(box).task);
}

std::string at(const Timeline& timeline, Time time) {
  return text_of(timeline, time - timeline.begin());
}

int rank_of(const Timeline& timeline, int box) { return timeline.row_of(box).rank; }

std::string what_of(const Timeline& timeline, const Link& link) {
  const std::string message = fmt::format(
      "message of {} to {}", name(timeline, link.box),
      link.edge < 0
          ? ""
          : core::lane_name(timeline.facts(),
                            timeline.facts().edges[static_cast<std::size_t>(link.edge)].consumer));
  switch (link.kind) {
    case Link::Kind::flew:
      return message + " on its way";
    case Link::Kind::slot:
      return message + " waits at its sender" +
             (link.by < 0
                  ? std::string()
                  : fmt::format("; {} freed a slot when it started", name(timeline, link.by)));
    case Link::Kind::held:
      return name(timeline, link.box) + " might have started; the hint held its engine for another";
    case Link::Kind::started:
      return name(timeline, link.box) + " has not started, and nothing says why";
    case Link::Kind::host:
      return link.edge < 0 ? name(timeline, link.box) + " has not started: the host is busy"
                           : message + " has not left: the host is busy";
    case Link::Kind::ran:
      break;
  }
  return {};
}

// What of the chain is of one kind.
struct Sums {
  std::array<Time, 6> of{};
  void add(const Link& link) { of[static_cast<std::size_t>(link.kind)] += link.end - link.start; }
};

std::string sums_text(const Timeline& timeline, const Sums& sums, Time until) {
  static constexpr std::array<const char*, 6> kNames = {
      "tasks",          "messages on their way", "waiting for slots",
      "held by a hint", "unexplained",           "busy hosts"};
  std::string text;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (sums.of[i] == Time{0}) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", kNames[i], text_of(timeline, sums.of[i]));
  }
  return fmt::format("of {}: {}\n", at(timeline, until), text.empty() ? "nothing" : text);
}

struct Entry {
  Time start{0};
  Time end{0};
  int rank = 0;
  std::string what;
  std::string why;
};

bool is_one_engine(const Row& a, const Row& b) { return a.rank == b.rank && a.engine == b.engine; }

// Tasks that ran one after the other on an engine are one entry.
std::vector<Entry> entries_of(const Timeline& timeline, const std::vector<Link>& chain) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < chain.size();) {
    const Link& link = chain[i];
    Entry entry{link.start, link.end, rank_of(timeline, link.box), what_of(timeline, link), {}};
    std::size_t next = i + 1;
    if (link.kind == Link::Kind::ran) {
      while (
          next < chain.size() && chain[next].kind == Link::Kind::ran &&
          chain[next].reason.box == chain[next - 1].box && chain[next].reason.why != Why::turn &&
          is_one_engine(timeline.row_of(chain[next].box), timeline.row_of(chain[next - 1].box))) {
        ++next;
      }
      entry.end = chain[next - 1].end;
      entry.what = name(timeline, link.box);
      if (next == i + 2) entry.what += " " + name(timeline, chain[i + 1].box);
      if (next > i + 2) {
        entry.what +=
            fmt::format(" .. {} ({} tasks)", name(timeline, chain[next - 1].box), next - i);
      }
      entry.why = text_of(timeline, link.reason);
    }
    entries.push_back(std::move(entry));
    i = next;
  }
  return entries;
}

std::string entries_text(const Timeline& timeline, const std::vector<Entry>& entries) {
  std::size_t wide = 4;
  std::size_t what = 0;
  for (const Entry& e : entries) {
    wide = std::max({wide, at(timeline, e.start).size(), at(timeline, e.end).size()});
    if (!e.why.empty()) what = std::max(what, e.what.size());
  }
  std::string text;
  for (const Entry& e : entries) {
    const std::string line =
        fmt::format("  {:>{}} - {:<{}}  rank {:<3} {:<{}}  {}", at(timeline, e.start), wide,
                    at(timeline, e.end), wide, e.rank, e.what, what, e.why);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string text_of(const Timeline& timeline, const Reason& reason) {
  switch (reason.why) {
    case Why::nothing:
      return "waited for nothing";
    case Why::engine:
      return "waited for its engine, which ran " + name(timeline, reason.box);
    case Why::handover:
      return "waited for its engine, which handed over the message of " +
             name(timeline, reason.box);
    case Why::need:
      return "waited for " + name(timeline, reason.box);
    case Why::message:
      return "waited for the message of " + name(timeline, reason.box);
    case Why::room:
      return fmt::format("waited for room in {}, which {} gave back",
                         core::pool_name(timeline.facts(), reason.pool),
                         name(timeline, reason.box));
    case Why::turn:
      return "waited for the start of " + name(timeline, reason.box);
  }
  return {};
}

std::string explain(const Timeline& timeline, Reasons& reasons, int box) {
  const Box& b = timeline.box(box);
  const Reason& reason = reasons.of(box);
  std::string text =
      fmt::format("{} on rank {} starts at {} and ends at {}", name(timeline, box),
                  rank_of(timeline, box), at(timeline, b.start), at(timeline, b.end));
  if (const std::string others = names_beside(timeline, box); !others.empty()) {
    text += ", beside " + others;
  }
  text += '\n';
  text += "it " + text_of(timeline, reason);
  if (reason.why != Why::nothing) text += " until " + at(timeline, reason.at);
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
    text += fmt::format("all else was there at {}\n", at(timeline, reason.rest));
  }
  const std::vector<Link> chain = chain_to(timeline, reasons, box);
  text +=
      "\nthe chain to it, from the start\n" + entries_text(timeline, entries_of(timeline, chain));
  Sums sums;
  for (const Link& link : chain) sums.add(link);
  return text + sums_text(timeline, sums, b.end);
}

}  // namespace ripeline::view
