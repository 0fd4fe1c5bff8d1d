#include "view/rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/print.h"
#include "trace/beside.h"

namespace ripeline::view {
namespace {

using core::Engine;
using core::LaneId;
using core::Status;
using core::Time;

const core::LaneFacts& lane_of(const core::ProgramFacts& facts, LaneId lane) {
  return facts.lanes[static_cast<std::size_t>(lane)];
}

// The first box to end after `at`. The boxes of a row are in order by their ends, too.
int first_to_end_after(std::span<const Box> boxes, Time at) {
  const auto it = std::upper_bound(boxes.begin(), boxes.end(), at,
                                   [](Time time, const Box& b) { return time < b.end; });
  return static_cast<int>(it - boxes.begin());
}

}  // namespace

Status Rows::make(const core::ProgramFacts& facts, std::vector<Box> boxes, Rows& rows) {
  const auto key = [&](const Box& b) {
    const core::LaneFacts& lane = lane_of(facts, b.task.lane);
    return std::tuple(lane.rank, lane.engine, b.start, b.start < b.end);
  };
  const auto by_key = [&](const Box& a, const Box& b) { return key(a) < key(b); };
  if (!std::is_sorted(boxes.begin(), boxes.end(), by_key)) {
    std::stable_sort(boxes.begin(), boxes.end(), by_key);
  }
  const std::vector<bool> beside = trace::started_beside(facts, boxes);
  Rows made;
  made.boxes_ = std::move(boxes);
  // Every engine that a lane uses has a row, even if nothing ran there.
  std::vector<std::pair<int, Engine>> used;
  for (const core::LaneFacts& lane : facts.lanes) used.emplace_back(lane.rank, lane.engine);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  BoxSpan of_engine;
  for (const auto& [rank, engine] : used) {
    of_engine.first = of_engine.end;
    for (; of_engine.end < static_cast<int>(made.boxes_.size()); ++of_engine.end) {
      const core::LaneFacts& lane = lane_of(facts, made.box(of_engine.end).task.lane);
      if (lane.rank != rank || lane.engine != engine) break;
    }
    made.add_rows(rank, engine, of_engine, beside);
  }
  if (Status s = made.check(facts); !s.ok()) return s;
  rows = std::move(made);
  return {};
}

// Boxes that started beside another box come after the others, in a row of their own.
void Rows::add_rows(int rank, Engine engine, BoxSpan boxes, const std::vector<bool>& beside) {
  Row row{.rank = rank, .engine = engine, .first = boxes.first, .end = boxes.end};
  std::vector<Box> second;
  if (!beside.empty()) row.end = row.first;
  for (int id = boxes.first; !beside.empty() && id < boxes.end; ++id) {
    if (beside[static_cast<std::size_t>(id)]) {
      second.push_back(box(id));
    } else {
      boxes_[static_cast<std::size_t>(row.end++)] = box(id);
    }
  }
  std::copy(second.begin(), second.end(), boxes_.begin() + row.end);
  rows_.push_back(row);
  if (second.empty()) return;
  rows_.push_back(
      {.rank = rank, .engine = engine, .first = row.end, .end = boxes.end, .second = true});
}

Status Rows::check(const core::ProgramFacts& facts) const {
  const auto overlap = [&](int id, int other) {
    if (box(id).start < box(other).start) std::swap(id, other);
    return Status(core::StatusCode::invalid,
                  core::task_name(facts, box(id).task) + " starts before " +
                      core::task_name(facts, box(other).task) + " ends, on one engine");
  };
  for (const Row& row : rows_) {
    for (int id = row.first + 1; id < row.end; ++id) {
      if (box(id).start < box(id - 1).end) return overlap(id, id - 1);
    }
  }
  for (const Row& row : rows_) {
    for (int id = row.first; row.second && id < row.end; ++id) {
      const BoxSpan others = beside(id);
      for (int other = others.first; other < others.end; ++other) {
        if (!facts.are_pair(box(id).task.lane, box(other).task.lane)) return overlap(id, other);
      }
    }
  }
  return {};
}

const Row& Rows::row_of(int box) const {
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), box,
                                      [](int id, const Row& row) { return id < row.end; });
  return *after;
}

const Row* Rows::other_row(const Row& row) const {
  if (row.second) return &row - 1;
  const Row* next = &row + 1;
  return next < rows_.data() + rows_.size() && next->second ? next : nullptr;
}

std::span<const Row> Rows::rows_of_engine(const Row& row) const {
  return {row.second ? &row - 1 : &row, other_row(row) == nullptr ? 1U : 2U};
}

BoxSpan Rows::beside(int id) const {
  const Row* other = other_row(row_of(id));
  if (other == nullptr) return {};
  const Box& b = box(id);
  BoxSpan found;
  found.first = found.end = other->first + first_to_end_after(boxes_of(*other), b.start);
  while (found.end < other->end && box(found.end).start < b.end) ++found.end;
  return found;
}

int Rows::before(int id, const core::ProgramFacts& facts) const {
  const Row& row = row_of(id);
  int mine = last_ended(id, row);
  if (facts.pairs.empty()) return mine;
  const Box& b = box(id);
  const Row* other = other_row(row);
  const int its_first = other == nullptr ? 0 : other->first;
  int its = other == nullptr ? -1 : last_ended(id, *other);
  // The loop ends at the latest at the previous task of the same lane, which is no pair with it.
  while (mine >= row.first || its >= its_first) {
    const bool is_mine = its < its_first || (mine >= row.first && box(mine).end >= box(its).end);
    const int last = is_mine ? mine-- : its--;
    const BoxSpan at_once = beside(last);
    if (!at_once.empty() && box(at_once.end - 1).end >= box(last).end) return last;
    if (!facts.are_pair(box(last).task.lane, b.task.lane)) return last;
  }
  return -1;
}

int Rows::last_ended(int id, const Row& row) const {
  const bool is_its = &row == &row_of(id);
  const int last =
      is_its ? id - 1 : row.first + first_to_end_after(boxes_of(row), box(id).start) - 1;
  return last < row.first ? -1 : last;
}

int Rows::last_ended(int id) const {
  int last = -1;
  for (const Row& row : rows_of_engine(row_of(id))) {
    const int of_row = last_ended(id, row);
    if (of_row >= 0 && (last < 0 || box(of_row).end > box(last).end)) last = of_row;
  }
  return last;
}

Time Rows::idle_before(int id) const {
  const int last = last_ended(id);
  const BoxSpan others = beside(id);
  const Time start = box(id).start;
  if (last < 0 || (!others.empty() && box(others.first).start < start)) return Time{0};
  return start - box(last).end;
}

Time Rows::busy(const Row& row, Time from, Time to) const {
  const auto within = [&](Time start, Time end) {
    return std::max(Time{0}, std::min(end, to) - std::max(start, from));
  };
  Time sum{0};
  for (const Row& one : rows_of_engine(row)) {
    for (int id = one.first; id < one.end; ++id) {
      const Box& b = box(id);
      sum += within(b.start, b.end);
      if (!one.second) continue;
      const BoxSpan others = beside(id);
      for (int other = others.first; other < others.end; ++other) {
        sum -= within(std::max(b.start, box(other).start), std::min(b.end, box(other).end));
      }
    }
  }
  return sum;
}

std::string name_of(const Row& row) {
  std::string engine =
      row.engine == core::Engine::compute ? "" : " " + std::string(name_of(row.engine));
  std::replace(engine.begin(), engine.end(), '_', ' ');
  return fmt::format("rank {}{}{}", row.rank, engine, row.second ? " beside" : "");
}

}  // namespace ripeline::view
