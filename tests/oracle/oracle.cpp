#include "tests/oracle/oracle.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace ripeline::oracle {
namespace {

using spec::Program;

enum Mark : char { kWaiting, kRunning, kEnded };
enum Letter : char { kUnsent, kSent, kHere };

struct State {
  std::string tasks;     // [lane][microbatch]
  std::string messages;  // [edge][microbatch]
  std::string taken;     // per rank: how many of its order have started
  std::string round;     // per rank: where the round of its hint is
  auto operator<=>(const State&) const = default;
};

// The value of an expression for one rank; only what orders use.
std::optional<spec::Rational> value_of(const spec::Expr& expr,
                                       const std::map<std::string, spec::Rational>& names) {
  const auto value = evaluate(expr, [&](std::string_view name) -> std::optional<spec::Rational> {
    const auto it = names.find(std::string(name));
    return it == names.end() ? std::nullopt : std::optional(it->second);
  });
  if (!value.ok()) return std::nullopt;
  return value.value();
}

using Listed = std::vector<std::pair<int, int>>;  // lane and microbatch

// What the rank is to run, one task after the other.
class Reader {
 public:
  Reader(const Program& program, int order_id, int rank, int microbatches)
      : program_(program),
        order_(program.orders.at(static_cast<std::size_t>(order_id))),
        rank_(rank),
        m_(microbatches) {
    for (std::size_t s = 0; s < program.stages.size(); ++s) {
      if (program.stages[s].rank == rank) stages_.push_back(static_cast<int>(s));
    }
    names_ = {{"r", {rank, 1}},
              {"chunks", {static_cast<std::int64_t>(stages_.size()), 1}},
              {"microbatches", {microbatches, 1}}};
  }

  Listed read() {
    if (order_.file) {
      for (const auto& task : order_.rows.at(static_cast<std::size_t>(rank_))) {
        listed_.emplace_back(task.lane, task.microbatch);
      }
      return listed_;
    }
    for (const auto& let : order_.lets) names_[let.name] = value_of(let.value, names_).value();
    // Each stream whole, as long as it could be; what has no microbatch left is skipped later.
    for (const auto& stream : order_.streams) {
      streams_.emplace_back();
      unroll(stream, 0, names_, streams_.back());
    }
    taken_.assign(streams_.size(), 0);
    for (const auto& repeat : order_.repeats) {
      const std::int64_t count = number(repeat.count, names_);
      for (std::int64_t i = 0; i < count; ++i) {
        for (const auto& step : repeat.steps) {
          if (step.stream < 0) {
            add(lane_of(step, names_));
          } else {
            take(static_cast<std::size_t>(step.stream));
          }
        }
      }
    }
    return listed_;
  }

 private:
  using Names = std::map<std::string, spec::Rational>;

  static std::int64_t number(const spec::Expr& expr, const Names& names) {
    return value_of(expr, names).value().numerator;
  }

  int lane_of(const spec::OrderStep& step, const Names& names) const {
    const std::int64_t chunk = step.chunk ? number(*step.chunk, names) : 0;
    const int stage = stages_.at(static_cast<std::size_t>(chunk));
    for (std::size_t l = 0; l < program_.lanes.size(); ++l) {
      if (program_.lanes[l].op == step.op && program_.lanes[l].stage == stage) {
        return static_cast<int>(l);
      }
    }
    return -1;
  }

  void unroll(const spec::OrderStream& stream, std::size_t loop, Names names,
              std::vector<int>& items) const {
    if (loop == stream.loops.size()) {
      const std::int64_t count = number(stream.count, names);
      for (std::int64_t i = 0; i < count; ++i) items.push_back(lane_of(stream.step, names));
      return;
    }
    const spec::OrderLoop& range = stream.loops[loop];
    const std::int64_t end = number(range.last, names) + (range.exclusive ? 0 : 1);
    for (std::int64_t i = number(range.first, names); i < end; ++i) {
      names[range.variable] = {i, 1};
      unroll(stream, loop + 1, names, items);
    }
  }

  int times(int lane) const {
    return static_cast<int>(std::count_if(listed_.begin(), listed_.end(),
                                          [&](const auto& task) { return task.first == lane; }));
  }
  void add(int lane) { listed_.emplace_back(lane, times(lane)); }
  void take(std::size_t stream) {
    const std::vector<int>& items = streams_[stream];
    std::size_t& at = taken_[stream];
    while (times(items.at(at)) >= m_) ++at;
    add(items.at(at));
    ++at;
  }

  const Program& program_;
  const spec::Order& order_;
  int rank_;
  int m_;
  std::vector<int> stages_;
  Names names_;
  std::vector<std::vector<int>> streams_;
  std::vector<std::size_t> taken_;  // per stream
  Listed listed_;
};

Listed order_of(const Program& program, int order_id, int rank, int microbatches) {
  return Reader(program, order_id, rank, microbatches).read();
}

class World {
 public:
  World(const Program& program, int microbatches, Choices choices)
      : program_(program), m_(microbatches), choices_(choices) {
    int order = -1;
    if (program.dispatch.in_order) order = program.dispatch.order;
    if (!program.dispatch.in_order && program.dispatch.hint.rule == spec::Hint::Rule::order) {
      order = program.dispatch.hint.order;
    }
    for (int r = 0; r < program.ranks; ++r) {
      orders_.push_back(order < 0 ? Listed{} : order_of(program, order, r, microbatches));
    }
  }

  State initial() const {
    State s;
    s.tasks.assign(program_.lanes.size() * m(), kWaiting);
    s.messages.assign(program_.edges.size() * m(), kUnsent);
    s.taken.assign(static_cast<std::size_t>(program_.ranks), 0);
    s.round.assign(static_cast<std::size_t>(program_.ranks), 0);
    return s;
  }

  std::vector<State> next(const State& s) const {
    std::vector<State> found;
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      for (std::size_t i = 0; i < m(); ++i) {
        if (s.tasks[lane * m() + i] == kRunning) found.push_back(ended(s, lane, i));
      }
    }
    for (std::size_t message = 0; message < s.messages.size(); ++message) {
      if (s.messages[message] != kSent) continue;
      found.push_back(s);
      found.back().messages[message] = kHere;
    }
    for (int rank = 0; rank < program_.ranks; ++rank) add_starts(s, rank, found);
    return found;
  }

  bool finished(const State& s) const {
    return std::all_of(s.tasks.begin(), s.tasks.end(), [](char t) { return t == kEnded; });
  }

  std::int64_t held(const State& s, int pool) const {
    std::int64_t sum = 0;
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      for (std::size_t i = 0; i < m(); ++i) {
        const char task = s.tasks[lane * m() + i];
        if (task == kWaiting) continue;
        for (const auto& a : program_.lanes[lane].acquires) sum += a.pool == pool ? a.amount : 0;
        if (task == kRunning) continue;
        for (const auto& r : program_.lanes[lane].releases) sum -= r.pool == pool ? r.amount : 0;
      }
    }
    return sum;
  }

 private:
  std::size_t m() const { return static_cast<std::size_t>(m_); }

  State ended(const State& s, std::size_t lane, std::size_t i) const {
    State after = s;
    after.tasks[lane * m() + i] = kEnded;
    for (std::size_t e = 0; e < program_.edges.size(); ++e) {
      const auto& edge = program_.edges[e];
      const auto consumer = static_cast<std::size_t>(edge.consumer);
      if (static_cast<std::size_t>(edge.producer) != lane) continue;
      if (program_.lanes[lane].rank != program_.lanes[consumer].rank) {
        after.messages[e * m() + i] = kSent;
      }
    }
    return after;
  }

  bool may_start(const State& s, std::size_t lane, std::size_t i) const {
    const spec::Lane& l = program_.lanes[lane];
    if (s.tasks[lane * m() + i] != kWaiting) return false;
    for (std::size_t e = 0; e < program_.edges.size(); ++e) {
      const auto& edge = program_.edges[e];
      if (static_cast<std::size_t>(edge.consumer) != lane) continue;
      const auto producer = static_cast<std::size_t>(edge.producer);
      if (s.tasks[producer * m() + i] != kEnded) return false;
      if (program_.lanes[producer].rank != l.rank && s.messages[e * m() + i] != kHere) return false;
    }
    if (l.sequential && i > 0 && s.tasks[lane * m() + i - 1] != kEnded) return false;
    for (std::size_t other = 0; other < program_.lanes.size(); ++other) {
      if (program_.lanes[other].rank != l.rank || program_.lanes[other].engine != l.engine)
        continue;
      for (std::size_t j = 0; j < m(); ++j) {
        if (s.tasks[other * m() + j] == kRunning) return false;
      }
    }
    for (const auto& a : l.acquires) {
      const auto& capacity = program_.pools[static_cast<std::size_t>(a.pool)].capacity;
      if (capacity && held(s, a.pool) + a.amount + a.leaving > *capacity) return false;
    }
    return true;
  }

  // The lowest microbatch of the lane that may start.
  std::optional<std::size_t> startable(const State& s, std::size_t lane) const {
    for (std::size_t i = 0; i < m(); ++i) {
      if (may_start(s, lane, i)) return i;
    }
    return std::nullopt;
  }

  State started(const State& s, std::size_t lane, std::size_t i) const {
    State after = s;
    const spec::Lane& l = program_.lanes[lane];
    const auto rank = static_cast<std::size_t>(l.rank);
    after.tasks[lane * m() + i] = kRunning;
    if (program_.dispatch.in_order) ++after.taken[rank];
    const spec::Hint& hint = program_.dispatch.hint;
    if (choices_ == Choices::dispatch && !program_.dispatch.in_order &&
        hint.rule == spec::Hint::Rule::rounds) {
      for (std::size_t k = 0; k < hint.ops.size(); ++k) {
        if (hint.ops[k] == l.op) {
          after.round[rank] = static_cast<char>((k + 1) % hint.ops.size());
          break;
        }
      }
    }
    return after;
  }

  void add_starts(const State& s, int rank, std::vector<State>& found) const {
    const auto r = static_cast<std::size_t>(rank);
    if (program_.dispatch.in_order) {
      const auto taken = static_cast<std::size_t>(s.taken[r]);
      if (taken >= orders_[r].size()) return;
      const auto lane = static_cast<std::size_t>(orders_[r][taken].first);
      const auto i = static_cast<std::size_t>(orders_[r][taken].second);
      if (i < m() && may_start(s, lane, i)) found.push_back(started(s, lane, i));
      return;
    }
    std::vector<std::size_t> ready;
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      if (program_.lanes[lane].rank != rank) continue;
      if (choices_ == Choices::any) {
        for (std::size_t i = 0; i < m(); ++i) {
          if (may_start(s, lane, i)) found.push_back(started(s, lane, i));
        }
      } else if (startable(s, lane)) {
        ready.push_back(lane);
      }
    }
    if (ready.empty()) return;
    const spec::Hint& hint = program_.dispatch.hint;
    if (hint.rule == spec::Hint::Rule::order &&
        program_.orders[static_cast<std::size_t>(hint.order)].file) {
      for (const auto& [bound_lane, bound] : orders_[r]) {  // the bound task
        const auto l = static_cast<std::size_t>(bound_lane);
        const auto i = static_cast<std::size_t>(bound);
        if (i < m() && may_start(s, l, i)) {
          found.push_back(started(s, l, i));
          return;
        }
      }
    }
    const std::size_t lane = preferred(s, rank, ready);
    found.push_back(started(s, lane, *startable(s, lane)));
  }

  // The least of the ready lanes under the hint, as a tuple to compare.
  std::size_t preferred(const State& s, int rank, const std::vector<std::size_t>& ready) const {
    return *std::min_element(ready.begin(), ready.end(), [&](std::size_t a, std::size_t b) {
      return preference(s, rank, a) < preference(s, rank, b);
    });
  }

  std::vector<int> preference(const State& s, int rank, std::size_t lane) const {
    const spec::Hint& hint = program_.dispatch.hint;
    const spec::Lane& l = program_.lanes[lane];
    const bool forward = program_.ops[static_cast<std::size_t>(l.op)].kind == spec::OpKind::forward;
    const int tie = forward ? l.chunk : -l.chunk;
    const bool follows = hint.rule == spec::Hint::Rule::order;
    if (follows && !program_.orders[static_cast<std::size_t>(hint.order)].file) {
      int begun = 0;
      for (std::size_t i = 0; i < m(); ++i) begun += s.tasks[lane * m() + i] != kWaiting ? 1 : 0;
      const auto& order = orders_[static_cast<std::size_t>(rank)];
      for (std::size_t p = 0; p < order.size(); ++p) {
        if (static_cast<std::size_t>(order[p].first) == lane && begun-- == 0) {
          return {0, static_cast<int>(p)};
        }
      }
    }
    const auto listed = std::find(hint.ops.begin(), hint.ops.end(), l.op);
    if (listed != hint.ops.end()) {
      const int n = static_cast<int>(hint.ops.size());
      const int at = static_cast<int>(listed - hint.ops.begin());
      const int turn = (at - s.round[static_cast<std::size_t>(rank)] + n) % n;
      return {1, turn, tie};
    }
    const auto filled = std::find(hint.fill.begin(), hint.fill.end(), l.op);
    if (filled != hint.fill.end()) {
      return {3, static_cast<int>(filled - hint.fill.begin()), tie};
    }
    return {2, l.op, tie};
  }

  const Program& program_;
  int m_;
  Choices choices_;
  std::vector<Listed> orders_;
};

}  // namespace

Answer explore(const Program& program, int microbatches, Choices choices, std::size_t most_states) {
  const World world(program, microbatches, choices);
  Answer answer;
  answer.peaks.assign(program.pools.size(), 0);
  std::set<State> seen{world.initial()};
  std::vector<State> open{world.initial()};
  while (!open.empty()) {
    const State state = std::move(open.back());
    open.pop_back();
    for (std::size_t p = 0; p < program.pools.size(); ++p) {
      answer.peaks[p] = std::max(answer.peaks[p], world.held(state, static_cast<int>(p)));
    }
    const std::vector<State> next = world.next(state);
    if (next.empty() && !world.finished(state)) answer.sticks = true;
    for (const State& s : next) {
      if (seen.size() >= most_states) return answer;
      if (seen.insert(s).second) open.push_back(s);
    }
  }
  answer.complete = true;
  answer.states = seen.size();
  return answer;
}

bool lists_each_task_once(const Program& program, int microbatches) {
  for (int rank = 0; rank < program.ranks; ++rank) {
    std::map<std::pair<int, int>, int> listed;
    std::size_t tasks = 0;
    for (const auto& task : order_of(program, program.dispatch.order, rank, microbatches)) {
      if (++listed[task] > 1 || task.second >= microbatches) return false;
    }
    for (const auto& lane : program.lanes) {
      if (lane.rank == rank) tasks += static_cast<std::size_t>(microbatches);
    }
    if (listed.size() != tasks) return false;
  }
  return true;
}

}  // namespace ripeline::oracle
