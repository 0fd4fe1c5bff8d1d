#include "tests/oracle/oracle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ripeline::oracle {
namespace {

using spec::Program;

// The value of an expression for one rank; only constructs that orders use are supported.
std::optional<spec::Rational> value_of(const spec::Expr& expr,
                                       const std::map<std::string, spec::Rational>& names) {
  const auto value = evaluate(expr, [&](std::string_view name) -> std::optional<spec::Rational> {
    const auto it = names.find(std::string(name));
    return it == names.end() ? std::nullopt : std::optional(it->second);
  });
  if (!value.ok()) return std::nullopt;
  return value.value();
}

int tasks_of(const Program& program, int lane, int microbatches) {
  const auto& l = program.lanes.at(static_cast<std::size_t>(lane));
  return static_cast<int>(microbatches_of(l, microbatches).size());
}

// Reads the order of a rank as a list of its tasks.
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
    // Expands each stream in full; take() later skips items whose lane has no task left.
    for (const auto& stream : order_.streams) {
      streams_.emplace_back();
      for (const auto& part : stream.parts) unroll(part, 0, names_, streams_.back());
    }
    taken_.assign(streams_.size(), 0);
    for (const auto& repeat : order_.repeats) {
      if (repeat.rank >= 0 && repeat.rank != rank_) continue;
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

  void unroll(const spec::OrderPart& part, std::size_t loop, Names names,
              std::vector<int>& items) const {
    if (loop == part.loops.size()) {
      for (const auto& repeat : part.repeats) {
        const std::int64_t count = number(repeat.count, names);
        for (std::int64_t i = 0; i < count; ++i) {
          for (const auto& step : repeat.steps) items.push_back(lane_of(step, names));
        }
      }
      return;
    }
    const spec::OrderLoop& range = part.loops[loop];
    const std::int64_t end = number(range.last, names) + (range.exclusive ? 0 : 1);
    for (std::int64_t i = number(range.first, names); i < end; ++i) {
      names[range.variable] = {i, 1};
      unroll(part, loop + 1, names, items);
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
    while (times(items.at(at)) >= tasks_of(program_, items.at(at), m_)) ++at;
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

// Per rank: the order that the dispatch commits to, keeps room for or follows; empty if none.
std::vector<Listed> orders_of(const Program& program, int microbatches) {
  const spec::Dispatch& dispatch = program.dispatch;
  int order = -1;
  if (dispatch.in_order) order = dispatch.order;
  if (!dispatch.in_order && dispatch.hint.rule == spec::Hint::Rule::order) {
    order = dispatch.hint.order;
  }
  if (!dispatch.in_order && dispatch.keeps >= 0) order = dispatch.keeps;  // often hint.order
  std::vector<Listed> orders(static_cast<std::size_t>(program.ranks));
  if (order < 0) return orders;
  for (int r = 0; r < program.ranks; ++r) {
    orders[static_cast<std::size_t>(r)] = order_of(program, order, r, microbatches);
  }
  return orders;
}

// All visited states, each once: a list, and a hash table of indices into the list.
class Seen {
 public:
  explicit Seen(std::size_t words) : words_(words), table_(std::size_t{1} << 10, 0) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] State state(std::size_t i) const {
    Words words{};
    std::copy_n(&list_[i * words_], words_, words.begin());
    return std::bit_cast<State>(words);
  }
  // Adds the state; returns true if it is new.
  bool add(const State& s) {
    if (2 * size_ >= table_.size()) grow();
    const auto words = std::bit_cast<Words>(s);
    std::size_t& place = find(words.data());
    if (place != 0) return false;
    list_.insert(list_.end(), words.data(), words.data() + words_);
    place = ++size_;
    return true;
  }

 private:
  using Words = std::array<Bits, sizeof(State) / sizeof(Bits)>;

  // The table entry of the state, or the empty entry where it belongs.
  std::size_t& find(const Bits* words) {
    Bits hash = 0;
    for (std::size_t i = 0; i < words_; ++i) {
      hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    }
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      if (table_[i] == 0) return table_[i];
      const Bits* other = list_.data() + (table_[i] - 1) * words_;
      if (std::equal(words, words + words_, other)) return table_[i];
    }
  }
  void grow() {
    table_.assign(4 * table_.size(), 0);
    for (std::size_t i = 0; i < size_; ++i) find(list_.data() + i * words_) = i + 1;
  }

  std::size_t words_;
  std::size_t size_ = 0;
  std::vector<Bits> list_;
  std::vector<std::size_t> table_;  // 1 + the index in the list; 0 if empty
};

}  // namespace

World world_of(const Program& program, int microbatches, Choices choices) {
  return {program, microbatches, choices, orders_of(program, microbatches)};
}

Answer explore(const Program& program, int microbatches, Choices choices, std::size_t most_states) {
  const World world = world_of(program, microbatches, choices);
  Answer answer;
  answer.peaks.assign(program.pools.size(), 0);
  if (!world.fits()) return answer;
  Seen seen(world.words());
  seen.add(State{});
  std::vector<Move> moves;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const State state = seen.state(i);
    for (std::size_t p = 0; p < program.pools.size(); ++p) {
      answer.peaks[p] = std::max(answer.peaks[p], world.held(state, static_cast<int>(p)));
    }
    world.moves(state, moves);
    if (moves.empty() && !world.finished(state)) answer.sticks = true;
    for (const Move& move : moves) {
      seen.add(world.after(state, move));
      if (seen.size() > most_states) return answer;
    }
  }
  answer.complete = true;
  answer.states = seen.size();
  return answer;
}

bool lists_each_task_once(const Program& program, int microbatches) {
  for (int rank = 0; rank < program.ranks; ++rank) {
    std::map<std::pair<int, int>, int> listed;
    int tasks = 0;
    for (const auto& task : order_of(program, program.dispatch.order, rank, microbatches)) {
      const bool has = task.second < tasks_of(program, task.first, microbatches);
      if (++listed[task] > 1 || !has) return false;
    }
    for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane) {
      const bool own = program.lanes[static_cast<std::size_t>(lane)].rank == rank;
      if (own) tasks += tasks_of(program, lane, microbatches);
    }
    if (static_cast<int>(listed.size()) != tasks) return false;
  }
  return true;
}

}  // namespace ripeline::oracle
