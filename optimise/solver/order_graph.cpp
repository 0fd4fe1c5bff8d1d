#include "optimise/solver/order_graph.h"

#include <algorithm>
#include <utility>

namespace ripeline::optimise {

Time Scale::of_task(Time takes) const {
  if (takes <= 0 || rounds_down) return takes / of_one;
  return std::max<Time>(1, of_lag(takes));
}

Time Scale::of_lag(Time lag) const {
  return rounds_down ? lag / of_one : lag / of_one + (2 * (lag % of_one) >= of_one ? 1 : 0);
}

std::optional<OrderGraph> OrderGraph::make(const Model& model, const Scale& scale, const Rows* rows,
                                           const std::vector<bool>& is_free) {
  OrderGraph graph;
  for (const Time takes : model.takes) graph.takes_.push_back(scale.of_task(takes));
  graph.positions_.assign(model.takes.size(), 0);
  if (rows != nullptr && !graph.read_rows(model, *rows)) return std::nullopt;
  graph.make_blocks(model, is_free);
  graph.add_needs(model, scale);
  if (rows != nullptr) {
    std::vector<Arc> ordered = graph.arcs_;
    for (const std::vector<int>& row : graph.rows_) {
      for (std::size_t i = 1; i < row.size(); ++i) ordered.push_back({row[i - 1], row[i], 0});
    }
    if (!graph.sort(ordered)) return std::nullopt;
    graph.starts_.assign(model.takes.size(), 0);
    for (const Arc& arc : ordered) {
      Time& start = at(graph.starts_, arc.after);
      start = std::max(start, at(graph.starts_, arc.before) + graph.takes(arc.before) + arc.lag);
    }
  }
  graph.add_places(model);
  if (!graph.sort(graph.arcs_)) return std::nullopt;
  graph.heads_.assign(model.takes.size(), 0);
  graph.tails_.assign(model.takes.size(), 0);
  for (const Arc& arc : graph.arcs_) {
    Time& head = at(graph.heads_, arc.after);
    head = std::max(head, graph.head(arc.before) + graph.takes(arc.before) + arc.lag);
  }
  for (auto arc = graph.arcs_.rbegin(); arc != graph.arcs_.rend(); ++arc) {
    Time& tail = at(graph.tails_, arc->before);
    tail = std::max(tail, arc->lag + graph.takes(arc->after) + graph.tail(arc->after));
  }
  graph.mark_free();
  return graph;
}

bool OrderGraph::read_rows(const Model& model, const Rows& rows) {
  if (rows.size() != model.machines.size()) return false;
  std::vector<int> next(model.lanes.size(), 0);
  for (int m = 0; m < size_of(rows); ++m) {
    if (size_of(at(rows, m)) != at(model.machines, m).tasks) return false;
    rows_.emplace_back();
    for (const int l : at(rows, m)) {
      if (l < 0 || l >= size_of(model.lanes)) return false;
      const Model::Lane& lane = at(model.lanes, l);
      if (lane.machine != m || at(next, l) == lane.tasks) return false;
      const int task = lane.first + at(next, l)++;
      at(positions_, task) = size_of(rows_.back());
      rows_.back().push_back(task);
    }
  }
  return true;
}

void OrderGraph::make_blocks(const Model& model, const std::vector<bool>& is_free) {
  block_of_.assign(takes_.size(), -1);
  const auto free = [&](int task) {
    return is_free.empty() || rows_.empty() || is_free[static_cast<std::size_t>(task)];
  };
  for (int m = 0; m < size_of(model.machines); ++m) {
    std::vector<int> row;
    if (!rows_.empty()) row = at(rows_, m);
    for (const int l : at(model.machines, m).lanes) {
      if (!rows_.empty()) break;
      for (int k = 0; k < at(model.lanes, l).tasks; ++k) {
        row.push_back(at(model.lanes, l).first + k);
      }
    }
    bool goes_on = false;
    for (int position = 0; position < size_of(row); ++position) {
      const int task = at(row, position);
      if (!free(task)) {
        goes_on = whole_ = false;
        continue;
      }
      if (!std::exchange(goes_on, true))
        blocks_.push_back({.machine = m, .first_position = position});
      at(block_of_, task) = size_of(blocks_) - 1;
      blocks_.back().tasks.push_back(task);
    }
  }
}

void OrderGraph::add_needs(const Model& model, const Scale& scale) {
  for (int task = 0; task < tasks(); ++task) {
    for (const Model::Arc& arc : model.needs_of(task)) {
      arcs_.push_back({arc.task, task, scale.of_lag(arc.lag)});
    }
    for (const int other : model.after(task)) arcs_.push_back({other, task, 0});
    if (task > at(model.lanes, at(model.lane_of, task)).first) {
      arcs_.push_back({task - 1, task, 0});
    }
  }
}

// Adds arcs between fixed neighbours. Each lane's end tasks in a block get arcs to its neighbours.
void OrderGraph::add_places(const Model& model) {
  for (const std::vector<int>& row : rows_) {
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (block_of(row[i]) < 0 && block_of(row[i - 1]) < 0)
        arcs_.push_back({row[i - 1], row[i], 0});
    }
  }
  if (rows_.empty()) return;
  std::vector<int> seen(model.lanes.size(), -1);  // per lane: the block in which it was seen last
  for (int b = 0; b < size_of(blocks_); ++b) {
    const Block& block = at(blocks_, b);
    const std::vector<int>& row = at(rows_, block.machine);
    const int end = block.first_position + size_of(block.tasks);
    for (int i = 0; block.first_position > 0 && i < size_of(block.tasks); ++i) {
      const int lane = at(model.lane_of, at(block.tasks, i));
      if (std::exchange(at(seen, lane), b) == b) continue;
      arcs_.push_back({at(row, block.first_position - 1), at(block.tasks, i), 0});
    }
    seen.assign(seen.size(), -1);
    for (int i = size_of(block.tasks) - 1; end < size_of(row) && i >= 0; --i) {
      const int lane = at(model.lane_of, at(block.tasks, i));
      if (std::exchange(at(seen, lane), b) == b) continue;
      arcs_.push_back({at(block.tasks, i), at(row, end), 0});
    }
  }
}

bool OrderGraph::sort(std::vector<Arc>& arcs) {
  std::vector<int> missing(takes_.size(), 0);
  std::vector<int> next(takes_.size() + 1, 0);  // per task: where its next arc goes in by_task
  for (const Arc& arc : arcs) {
    ++at(missing, arc.after);
    ++at(next, arc.before + 1);
  }
  for (int task = 0; task < tasks(); ++task) at(next, task + 1) += at(next, task);
  const std::vector<int> first = next;
  std::vector<Arc> by_task(arcs.size());
  for (const Arc& arc : arcs) at(by_task, at(next, arc.before)++) = arc;
  std::vector<int> ready;
  for (int task = 0; task < tasks(); ++task) {
    if (at(missing, task) == 0) ready.push_back(task);
  }
  ranks_.assign(takes_.size(), 0);
  arcs.clear();
  for (int i = 0; i < size_of(ready); ++i) {
    const int task = at(ready, i);
    at(ranks_, task) = i;
    for (int k = at(first, task); k < at(first, task + 1); ++k) {
      arcs.push_back(at(by_task, k));
      if (--at(missing, arcs.back().after) == 0) ready.push_back(arcs.back().after);
    }
  }
  return size_of(ready) == tasks();
}

void OrderGraph::mark_free() {
  for (const int block : block_of_) after_free_.push_back(block >= 0);
  before_free_ = after_free_;
  const auto mark = [](std::vector<bool>& marks, int from, int to) {
    if (marks[static_cast<std::size_t>(from)]) marks[static_cast<std::size_t>(to)] = true;
  };
  for (const Arc& arc : arcs_) mark(after_free_, arc.before, arc.after);
  for (auto arc = arcs_.rbegin(); arc != arcs_.rend(); ++arc) {
    mark(before_free_, arc->after, arc->before);
  }
}

}  // namespace ripeline::optimise
