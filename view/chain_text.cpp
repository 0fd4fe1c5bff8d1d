#include "view/chain_text.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "core/print.h"
#include "view/explain.h"
#include "view/picture.h"

namespace ripeline::view {
namespace {

using core::Time;

// A longer list is folded: the first entry, the longest and the last ones stay.
constexpr std::size_t kMostEntries = 40;
constexpr std::size_t kLongest = 12;
constexpr std::size_t kLast = 8;
constexpr int kMarks = 2000;  // a wait below the step of an axis with this many marks is short

std::string what_of(const Timeline& timeline, const Link& link) {
  const std::string message = fmt::format(
      "message of {} to {}", box_name(timeline, link.box),
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
                  : fmt::format("; {} freed a slot when it started", box_name(timeline, link.by)));
    case Link::Kind::held:
      return box_name(timeline, link.box) +
             " might have started; the hint held its engine for another";
    case Link::Kind::started:
      return box_name(timeline, link.box) + " has not started, and nothing says why";
    case Link::Kind::host:
      return link.edge < 0 ? box_name(timeline, link.box) + " has not started: the host is busy"
                           : message + " has not left: the host is busy";
    case Link::Kind::ran:
      break;
  }
  return {};
}

// The time of a chain by kind of link.
struct Sums {
  std::array<Time, 6> of{};
  void add(const Link& link) { of[static_cast<std::size_t>(link.kind)] += link.end - link.start; }
  void add(const Sums& sums) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] += sums.of[i];
  }
};

// The times as text, such as `tasks 7, messages on their way 1.5`.
std::string text_of(const Timeline& timeline, const Sums& sums) {
  static constexpr std::array<const char*, 6> kNames = {
      "tasks",          "messages on their way", "waiting for slots",
      "held by a hint", "unexplained",           "busy hosts"};
  std::string text;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (sums.of[i] == Time{0}) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", kNames[i], text_of(timeline, sums.of[i]));
  }
  return text.empty() ? "nothing" : text;
}

// A line of the list.
struct Entry {
  Time start{0};
  Time end{0};
  int rank = -1;  // -1 if it concerns several ranks
  std::string what;
  std::string why;
  Sums sums;
};

bool is_one_engine(const Row& a, const Row& b) { return a.rank == b.rank && a.engine == b.engine; }

// The waits that are too short to be listed.
struct Short {
  Time below{0};
  std::int64_t count = 0;
  Time together{0};
};

Short take_short_waits(const Timeline& timeline, std::vector<Link>& chain) {
  Short waits;
  if (chain.empty()) return waits;
  const double whole = timeline.in_unit(chain.back().end - chain.front().start);
  waits.below = Time{static_cast<std::int64_t>(
      axis_step(whole, kMarks) * static_cast<double>(timeline.run().unit.nanoseconds))};
  std::erase_if(chain, [&](const Link& link) {
    const Time took = link.end - link.start;
    if (link.kind == Link::Kind::ran || took >= waits.below) return false;
    ++waits.count;
    waits.together += took;
    return true;
  });
  return waits;
}

// Whether the task of `next` waited for the task of `before`, which ran on the same engine.
bool follows(const Timeline& timeline, const Link& next, const Link& before) {
  return next.kind == Link::Kind::ran && next.reason.box == before.box &&
         next.reason.why != Reason::Why::turn &&
         is_one_engine(timeline.row_of(next.box), timeline.row_of(before.box));
}

// Makes the entries. Tasks that ran one after the other on an engine are one entry.
std::vector<Entry> entries_of(const Timeline& timeline, const std::vector<Link>& chain) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < chain.size();) {
    const Link& link = chain[i];
    Entry entry{link.start, link.end, timeline.row_of(link.box).rank, what_of(timeline, link),
                {},         {}};
    entry.sums.add(link);
    std::size_t next = i + 1;
    if (link.kind == Link::Kind::ran) {
      while (next < chain.size() && follows(timeline, chain[next], chain[next - 1])) {
        entry.sums.add(chain[next++]);
      }
      entry.end = chain[next - 1].end;
      entry.what = box_name(timeline, link.box);
      if (next == i + 2) entry.what += " " + box_name(timeline, chain[i + 1].box);
      if (next > i + 2) {
        entry.what +=
            fmt::format(" .. {} ({} tasks)", box_name(timeline, chain[next - 1].box), next - i);
      }
      entry.why = text_of(timeline, link.reason);
    }
    entries.push_back(std::move(entry));
    i = next;
  }
  return entries;
}

// Shortens a long list: keeps the first, longest and last entries, and merges each stretch between.
std::vector<Entry> folded(const Timeline& timeline, std::vector<Entry> entries) {
  if (entries.size() <= kMostEntries) return entries;
  const std::size_t middle = entries.size() - kLast;
  std::vector<std::size_t> by_length(middle - 1);
  std::iota(by_length.begin(), by_length.end(), std::size_t{1});
  std::stable_sort(by_length.begin(), by_length.end(), [&](std::size_t a, std::size_t b) {
    return entries[a].end - entries[a].start > entries[b].end - entries[b].start;
  });
  std::vector<bool> is_listed(entries.size(), false);
  is_listed[0] = true;
  for (std::size_t i = 0; i < kLongest; ++i) is_listed[by_length[i]] = true;
  std::vector<Entry> lines;
  for (std::size_t i = 0; i < entries.size();) {
    if (i >= middle || is_listed[i]) {
      lines.push_back(std::move(entries[i++]));
      continue;
    }
    Entry stretch;
    stretch.start = entries[i].start;
    std::size_t next = i;
    for (; next < middle && !is_listed[next]; ++next) stretch.sums.add(entries[next].sums);
    if (next == i + 1) {
      lines.push_back(std::move(entries[i++]));
      continue;
    }
    stretch.end = entries[next - 1].end;
    stretch.what = fmt::format("… {} more: {}", next - i, text_of(timeline, stretch.sums));
    lines.push_back(std::move(stretch));
    i = next;
  }
  return lines;
}

std::string entries_text(const Timeline& timeline, const std::vector<Entry>& entries) {
  std::size_t wide = 4;
  std::size_t what = 0;
  for (const Entry& e : entries) {
    wide = std::max(
        {wide, moment_text(timeline, e.start).size(), moment_text(timeline, e.end).size()});
    if (!e.why.empty()) what = std::max(what, e.what.size());
  }
  std::string text;
  for (const Entry& e : entries) {
    const std::string rank = e.rank < 0 ? "" : fmt::format("rank {}", e.rank);
    const std::string line =
        fmt::format("  {:>{}} - {:<{}}  {:<8} {:<{}}  {}", moment_text(timeline, e.start), wide,
                    moment_text(timeline, e.end), wide, rank, e.what, what, e.why);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string chain_text(const Timeline& timeline, Reasons& reasons, int box) {
  std::vector<Link> chain = chain_to(timeline, reasons, box);
  Sums sums;
  for (const Link& link : chain) sums.add(link);
  const Short waits = take_short_waits(timeline, chain);
  std::string text = fmt::format("of {}: {}\n", moment_text(timeline, timeline.box(box).end),
                                 text_of(timeline, sums)) +
                     entries_text(timeline, folded(timeline, entries_of(timeline, chain)));
  if (waits.count > 0) {
    text += fmt::format("  … {} wait{} of under {}, {} together\n", waits.count,
                        waits.count == 1 ? "" : "s", text_of(timeline, waits.below),
                        text_of(timeline, waits.together));
  }
  return text;
}

}  // namespace ripeline::view
