// Reads orders with streams as runs: first a rank's streams, then the items that its repeats use.
#include "verify/order/periods.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "spec/indexing.h"
#include "spec/long_work.h"
#include "verify/order/eventually.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// Limits of the lanes written out for a rank, and of the period; above them queries take too long.
constexpr std::size_t kMostLanes = 20'000;
constexpr std::int64_t kLongestPeriod = 64;

struct Group {
  std::vector<int> lanes;
  Value count;
};

// The rest of a stream. The next item is the first lane of `runs[at]`.
struct Stream {
  std::vector<Group> runs;  // counts are not used
  std::vector<Value> left;  // per run: items
  std::size_t at = 0;
};

class RankReader {
 public:
  RankReader(const Program& program, const spec::Order& order, int rank, const Value& microbatches,
             std::int64_t first)
      : program_(program), order_(order), rank_(rank), microbatches_(microbatches), math_(first) {
    for (int s = 0; s < size_of(program.stages); ++s) {
      if (at(program.stages, s).rank == rank) stages_.push_back(s);
    }
    names_["r"] = {0, rank, 1};
    names_["chunks"] = {0, size_of(stages_), 1};
    names_["microbatches"] = microbatches;
  }

  std::vector<PeriodicRun> read() {
    for (const spec::OrderLet& let : order_.lets) names_[let.name] = value(let.value);
    for (const spec::OrderStream& stream : order_.streams) {
      span_ = stream.span;
      std::vector<Group> runs;
      for (const spec::OrderPart& part : stream.parts) unroll(part, 0, runs);
      streams_.push_back(truncated(runs));
    }
    for (const spec::OrderRepeat& repeat : order_.repeats) {
      if (!repeat.is_of(rank_)) continue;
      spec::stop_point();
      span_ = repeat.span;
      const Value count = counted(repeat.count);
      if (math_.sign(count) > 0) read_repeat(repeat, count);
    }
    require_one_source();
    return std::move(runs_);
  }

  [[nodiscard]] std::int64_t first() const { return math_.first(); }
  [[nodiscard]] spec::Span span() const { return span_; }

 private:
  Value value(const spec::Expr& expr) {
    if (expr.span.end > 0) span_ = expr.span;
    return math_.value(expr, [this](std::string_view name) -> std::optional<Value> {
      const auto it = names_.find(name);
      return it == names_.end() ? std::nullopt : std::optional(it->second);
    });
  }

  Value counted(const spec::Expr& expr) {
    const Value count = value(expr);
    if (count.divisor != 1) throw Trouble{"a count is a fraction", count.divisor};
    if (math_.sign(count) < 0) throw Trouble{"a count is negative for many microbatches"};
    return count;
  }

  std::int64_t constant(const spec::Expr& expr, const char* what) {
    const Value number = value(expr);
    if (number.slope != 0 || number.divisor != 1) {
      throw Trouble{fmt::format("{} depends on the microbatches", what)};
    }
    return number.base;
  }

  int lane_of(const spec::OrderStep& step) {
    const std::int64_t chunk = step.chunk ? constant(*step.chunk, "a chunk") : 0;
    if (chunk < 0 || chunk >= size_of(stages_))
      throw Trouble{fmt::format("it has chunk {}", chunk)};
    const int lane = program_.lane_of(step.op, at(stages_, static_cast<int>(chunk)));
    if (lane < 0) throw Trouble{"an op is not at a stage"};
    return lane;
  }

  // --- streams ---

  void add_repeat(const spec::OrderRepeat& repeat, std::vector<Group>& runs) {
    const Value count = counted(repeat.count);
    if (math_.sign(count) <= 0) return;
    Group group{{}, count};
    for (const spec::OrderStep& step : repeat.steps) group.lanes.push_back(lane_of(step));
    add_run(runs, std::move(group));
  }

  void unroll(const spec::OrderPart& part, std::size_t loop, std::vector<Group>& runs) {
    if (loop == part.loops.size()) {
      for (const spec::OrderRepeat& repeat : part.repeats) add_repeat(repeat, runs);
      return;
    }
    const spec::OrderLoop& range = part.loops[loop];
    const Value begin = value(range.first);
    Value turns = math_.difference(value(range.last), begin);
    if (!range.exclusive) turns = math_.sum(turns, {0, 1, 1});
    if (turns.divisor != 1) throw Trouble{"a range is a fraction", turns.divisor};
    if (begin.divisor != 1) throw Trouble{"a range is a fraction", begin.divisor};
    if (math_.sign(turns) > 0 && turns.slope == 0) {
      for (std::int64_t i = 0; i < turns.base; ++i) {
        names_[range.variable] = math_.sum(begin, {0, i, 1});
        unroll(part, loop + 1, runs);
        spend(1);
      }
      names_.erase(range.variable);
    } else if (math_.sign(turns) > 0) {
      // The loop's variable has no value here, since all turns must be the same.
      std::vector<Group> turn;
      unroll(part, loop + 1, turn);
      Group whole{{}, turns};
      for (const Group& run : turn) {
        if (run.count.slope != 0) {
          throw Trouble{"a stream has as many items as the microbatches in each of as many turns"};
        }
        for (std::int64_t i = 0; i < run.count.base; ++i) {
          spend(run.lanes.size());
          whole.lanes.insert(whole.lanes.end(), run.lanes.begin(), run.lanes.end());
        }
      }
      if (!whole.lanes.empty()) add_run(runs, std::move(whole));
    }
  }

  Value tasks_of(int lane) const {
    const spec::Lane& l = at(program_.lanes, lane);
    if (l.once) return {0, 1, 1};
    const std::int64_t missing =
        l.share.period / std::gcd<std::int64_t>(l.share.period, microbatches_.slope);
    if (missing > 1) throw Trouble{"a lane has some microbatches only", missing};
    return {microbatches_.slope / l.share.period * l.share.size(),
            l.share.below(static_cast<int>(microbatches_.base)), 1};
  }

  void spend(std::size_t lanes) {
    spec::stop_point();
    spent_ += lanes;
    if (spent_ > kMostLanes) throw Trouble{"it has too many places"};
  }

  void add_run(std::vector<Group>& runs, Group run) {
    spend(run.lanes.size());
    runs.push_back(std::move(run));
  }

  // The stream without the items that are beyond their lane's last microbatch.
  Stream truncated(const std::vector<Group>& runs) {
    Stream stream;
    std::map<int, Value> listed;
    const auto has_left = [&](int lane) {
      return math_.sign(math_.difference(tasks_of(lane), listed[lane])) > 0;
    };
    const auto add = [&](const std::vector<int>& lanes, const Value& count) {
      if (lanes.empty()) return;
      spend(lanes.size());
      for (const int lane : lanes) listed[lane] = math_.sum(listed[lane], count);
      stream.runs.push_back({lanes, count});
      stream.left.push_back(math_.product({0, size_of(lanes), 1}, count));
    };
    for (const Group& run : runs) {
      std::vector<int> lanes = run.lanes;
      Value left = run.count;
      while (math_.sign(left) > 0) {
        std::erase_if(lanes, [&](int lane) { return !has_left(lane); });
        if (lanes.empty()) break;
        Value turns = left;
        for (const int lane : lanes) {
          const auto each = std::count(lanes.begin(), lanes.end(), lane);
          const Value room = math_.difference(tasks_of(lane), listed[lane]);
          turns = math_.least(turns, math_.floor(math_.quotient(room, {0, each, 1})));
        }
        if (math_.sign(turns) > 0) add(lanes, turns);
        left = math_.difference(left, turns);
        if (math_.sign(left) <= 0) break;
        for (const int lane : lanes) {  // a turn in which some lanes have no microbatch left
          if (has_left(lane)) add({lane}, {0, 1, 1});
        }
        left = math_.difference(left, {0, 1, 1});
      }
    }
    return stream;
  }

  // --- repeats ---

  void read_repeat(const spec::OrderRepeat& repeat, const Value& count) {
    std::map<int, std::int64_t> taken;  // per stream: items in a turn
    for (const spec::OrderStep& step : repeat.steps) {
      if (step.stream < 0) continue;
      ++taken[step.stream];
      used_.insert(step.stream);
    }
    Value left = count;
    while (math_.sign(left) > 0) {
      Value turns = left;
      for (const auto& [stream, each] : taken) {
        const Value items = next_run(stream);
        turns = math_.least(turns, math_.floor(math_.quotient(items, {0, each, 1})));
      }
      if (math_.sign(turns) > 0) {
        take_turns(repeat, taken, turns);
      } else {
        turns = {0, 1, 1};
        write(turn_of(repeat), turns);
      }
      left = math_.difference(left, turns);
    }
  }

  // The number of items left in the stream's present run.
  Value next_run(int stream) {
    Stream& s = at(streams_, stream);
    while (s.at < s.runs.size() && math_.sign(s.left[s.at]) == 0) ++s.at;
    if (s.at == s.runs.size()) {
      throw Trouble{fmt::format("stream '{}' ends before what is taken from it",
                                at(order_.streams, stream).name)};
    }
    return s.left[s.at];
  }

  int take(int stream) {
    const Value left = next_run(stream);
    Stream& s = at(streams_, stream);
    std::vector<int>& lanes = s.runs[s.at].lanes;
    const int lane = lanes.front();
    std::rotate(lanes.begin(), lanes.begin() + 1, lanes.end());
    s.left[s.at] = math_.difference(left, {0, 1, 1});
    return lane;
  }

  std::vector<int> turn_of(const spec::OrderRepeat& repeat) {
    std::vector<int> lanes;
    for (const spec::OrderStep& step : repeat.steps) {
      lanes.push_back(step.stream < 0 ? lane_of(step) : take(step.stream));
      const bool from_stream = step.stream >= 0;
      const auto [it, fresh] = source_.emplace(lanes.back(), from_stream ? step.stream : -1);
      one_source_ = one_source_ && it->second == (from_stream ? step.stream : -1);
    }
    return lanes;
  }

  // Writes `turns` turns, during which each stream stays in its present run.
  void take_turns(const spec::OrderRepeat& repeat, const std::map<int, std::int64_t>& taken,
                  const Value& turns) {
    std::int64_t period = 1;
    std::map<int, Value> after;  // items left per stream
    for (const auto& [stream, each] : taken) {
      const Stream& s = at(streams_, stream);
      const std::int64_t length = size_of(s.runs[s.at].lanes);
      period = std::lcm(period, length / std::gcd(length, each));
      if (period > static_cast<std::int64_t>(kMostLanes)) throw Trouble{"it has too many places"};
      after[stream] = math_.difference(s.left[s.at], math_.product(turns, {0, each, 1}));
    }
    const Value whole = math_.floor(math_.quotient(turns, {0, period, 1}));
    const Value rest = math_.difference(turns, math_.product(whole, {0, period, 1}));
    if (math_.sign(whole) > 0) write(some_turns(repeat, period), whole);
    // After whole periods each stream's run is at the same item; a fixed number of turns is left.
    if (math_.sign(rest) > 0) write(some_turns(repeat, rest.base), {0, 1, 1});
    for (const auto& [stream, items] : after) {
      Stream& s = at(streams_, stream);
      s.left[s.at] = items;
    }
  }

  std::vector<int> some_turns(const spec::OrderRepeat& repeat, std::int64_t turns) {
    std::vector<int> lanes;
    for (std::int64_t i = 0; i < turns; ++i) {
      const std::vector<int> turn = turn_of(repeat);
      spend(turn.size());
      lanes.insert(lanes.end(), turn.begin(), turn.end());
    }
    return lanes;
  }

  void write(const std::vector<int>& lanes, const Value& count) {
    spend(lanes.size());
    if (!lanes.empty()) runs_.push_back({lanes, {count.slope, count.base}});
  }

  // A lane must have one source: with two, a stream would have to leave out what the other lists. A
  // stream that this rank does not use lists nothing for the rank.
  void require_one_source() const {
    std::map<int, int> listing;
    bool several = !one_source_;
    for (const int s : used_) {
      std::vector<int> lanes;
      for (const Group& run : at(streams_, s).runs) {
        lanes.insert(lanes.end(), run.lanes.begin(), run.lanes.end());
      }
      for (const int lane : lanes) {
        const auto [it, fresh] = listing.emplace(lane, s);
        const auto used = source_.find(lane);
        several = several || it->second != s || (used != source_.end() && used->second != s);
      }
    }
    if (several) throw Trouble{"a lane comes from a stream and from elsewhere"};
  }

  const Program& program_;
  const spec::Order& order_;
  int rank_;
  Value microbatches_;
  Eventually math_;
  std::vector<int> stages_;  // by chunk
  std::map<std::string, Value, std::less<>> names_;
  std::vector<Stream> streams_;
  std::vector<PeriodicRun> runs_;
  std::map<int, int> source_;  // per listed lane: its stream, or -1
  std::set<int> used_;         // streams that the rank uses
  bool one_source_ = true;
  std::size_t spent_ = 0;
  spec::Span span_;
};

}  // namespace

PeriodicOrder periodic_order(const Program& program, const spec::Order& order, std::int64_t period,
                             std::int64_t remainder) {
  PeriodicOrder result;
  const std::int64_t before = std::max<std::int64_t>(0, program.microbatches.min - remainder);
  result.first = (before + period - 1) / period;
  for (int rank = 0; rank < program.ranks; ++rank) {
    RankReader reader(program, order, rank, {period, remainder, 1}, result.first);
    try {
      result.ranks.push_back(reader.read());
    } catch (const Trouble& trouble) {
      result.problem = trouble.why;
      result.span = reader.span();
      result.factor = trouble.factor;
      return result;
    }
    result.first = std::max(result.first, reader.first());
  }
  return result;
}

std::int64_t PeriodicFamily::first_microbatches() const {
  std::int64_t first = 0;
  for (std::size_t r = 0; r < orders.size(); ++r) {
    first = std::max(first, period * orders[r].first + static_cast<std::int64_t>(r));
  }
  return first;
}

PeriodicFamily periodic_family(const Program& program, const spec::Order& order) {
  PeriodicFamily family;
  for (std::int64_t remainder = 0; remainder < family.period; ++remainder) {
    PeriodicOrder found = periodic_order(program, order, family.period, remainder);
    if (found.problem.empty()) {
      family.orders.push_back(std::move(found));
      continue;
    }
    family.orders.clear();
    if (found.factor <= 1 || found.factor > kLongestPeriod / family.period) {
      family.problem = found.problem;
      family.span = found.span;
      return family;
    }
    family.period *= found.factor;
    remainder = -1;
  }
  return family;
}

}  // namespace ripeline::verify
