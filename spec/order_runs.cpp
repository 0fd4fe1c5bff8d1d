#include "spec/order_runs.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace ripeline::spec {
namespace {

// The most items of a repeat in a stream; the number of tasks bounds how many are taken.
constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();

// The position in a stream: the turn of its loops, and the items left in that turn.
struct StreamPosition {
  struct Loop {
    std::int64_t value = 0;
    std::int64_t last = 0;  // included
  };
  std::size_t part = 0;
  std::vector<Loop> loops;  // the loops of the part
  std::size_t repeat = 0;   // the next repeat of the turn
  bool begun = false;       // the part's loops have begun
  std::vector<int> lanes;   // the lanes of the current repeat
  std::int64_t left = 0;    // items of the repeat that are not yet taken
  std::int64_t taken = 0;

  // The lane of the next item, if one is left.
  [[nodiscard]] int lane() const {
    const auto length = static_cast<std::int64_t>(lanes.size());
    return lanes[static_cast<std::size_t>((length - left % length) % length)];
  }
};

class Expansion {
 public:
  Expansion(const Program& program, const Order& order, int rank, int microbatches,
            const std::vector<int>& stages, ExpansionWork& work)
      : program_(program),
        order_(order),
        rank_(rank),
        microbatches_(microbatches),
        stages_(stages),
        work_(work),
        first_lane_(program.first_lane(rank)),
        listed_(static_cast<std::size_t>(program.first_lane(rank + 1) - first_lane_), 0),
        positions_(order.streams.size()) {
    names_ = {{"r", {rank, 1}},
              {"chunks", {static_cast<std::int64_t>(stages.size()), 1}},
              {"microbatches", {microbatches, 1}}};
  }

  Result<std::vector<OrderRun>> run() {
    for (const OrderLet& let : order_.lets) {
      const Result<Rational> value = evaluate(let.value, lookup());
      if (!value.ok()) return placed(value.errors());
      names_.emplace_back(let.name, value.value());
    }
    for (const OrderRepeat& repeat : order_.repeats) {
      if (!repeat.is_of(rank_)) continue;
      if (const Diagnostics errors = expand_repeat(repeat); !errors.empty()) return errors;
    }
    for (std::size_t s = 0; s < positions_.size(); ++s) {
      if (const Diagnostics errors = finish(order_.streams[s], positions_[s]); !errors.empty()) {
        return errors;
      }
    }
    return std::move(runs_);
  }

 private:
  Diagnostics expand_repeat(const OrderRepeat& repeat) {
    const Span span = span_of(repeat.count, repeat.span);
    const Result<std::int64_t> count = counted(repeat.count, span);
    if (!count.ok()) return count.errors();
    if (count.value() == 0) return {};  // then the lanes of the steps need not exist
    const bool streams = std::any_of(repeat.steps.begin(), repeat.steps.end(),
                                     [](const OrderStep& step) { return step.stream >= 0; });
    OrderRun run{{}, count.value()};
    for (const OrderStep& step : repeat.steps) {
      if (step.stream >= 0) continue;
      const Result<int> lane = lane_of(step);
      if (!lane.ok()) return lane.errors();
      run.lanes.push_back(lane.value());
    }
    return streams ? take_turns(repeat, std::move(run)) : add(std::move(run));
  }

  Diagnostics add(OrderRun run) {
    if (run.lanes.empty()) return {};
    const auto length = static_cast<std::int64_t>(run.lanes.size());
    // Compares by division, since the product might overflow.
    if (--work_.left < 0) return too_much_work();
    if (run.count > (kMostOrderTasks - total_) / length) return {too_long("tasks")};
    total_ += run.count * length;
    for (const int lane : run.lanes) listed(lane) += run.count;
    runs_.push_back(std::move(run));
    return {};
  }

  // Adds the turns of a repeat that uses streams, one turn at a time, together with the equal turns
  // that follow it. `plain` has the lanes of the steps that are not streams.
  Diagnostics take_turns(const OrderRepeat& repeat, const OrderRun& plain) {
    for (std::int64_t left = plain.count; left > 0;) {
      OrderRun run{{}, 1};
      auto next_plain = plain.lanes.begin();
      for (const OrderStep& step : repeat.steps) {
        if (step.stream < 0) {
          run.lanes.push_back(*next_plain++);
        } else {
          if (const Diagnostics errors = advance(step.stream); !errors.empty()) return errors;
          StreamPosition& position = position_of(step.stream);
          const int lane = position.lane();
          --position.left;
          ++position.taken;
          run.lanes.push_back(lane);
        }
        ++listed(run.lanes.back());
      }
      for (const int lane : run.lanes) --listed(lane);  // add() counts these lanes
      run.count += same_turns(repeat, run.lanes, left - 1);
      left -= run.count;
      if (const Diagnostics errors = add(std::move(run)); !errors.empty()) return errors;
    }
    return {};
  }

  // How many of the next `most` turns have the same lanes as this one; also uses up their items.
  std::int64_t same_turns(const OrderRepeat& repeat, std::vector<int> lanes, std::int64_t most) {
    std::int64_t same = most;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const OrderStep& step = repeat.steps[i];
      if (step.stream < 0) continue;
      if (position_of(step.stream).lanes.size() > 1) return 0;
      same = std::min(
          {same, position_of(step.stream).left, tasks_of(lanes[i]) - listed(lanes[i]) - 1});
    }
    std::vector<int> streams;
    for (const OrderStep& step : repeat.steps) {
      if (step.stream >= 0) streams.push_back(step.stream);
    }
    if (same <= 0 || repeats_any(lanes) || repeats_any(streams)) return 0;
    for (const int stream : streams) {
      position_of(stream).left -= same;
      position_of(stream).taken += same;
    }
    return same;
  }

  static bool repeats_any(std::vector<int> values) {
    std::sort(values.begin(), values.end());
    return std::adjacent_find(values.begin(), values.end()) != values.end();
  }

  // Advances to the stream's next item whose lane has a microbatch left.
  Diagnostics advance(int stream) {
    const OrderStream& text = at(order_.streams, stream);
    StreamPosition& position = position_of(stream);
    while (position.left == 0 || listed(position.lane()) >= tasks_of(position.lane())) {
      if (position.left > 0 && position.lanes.size() > 1) {
        if (--work_.left < 0) return too_much_work();
        --position.left;
        continue;
      }
      const Result<bool> more = read_repeat(text, position);
      if (!more.ok()) return more.errors();
      if (!more.value()) return ended(text, position);
    }
    return {};
  }

  // Checks also the items that are not used, since an executor may read ahead in a stream.
  Diagnostics finish(const OrderStream& text, StreamPosition& position) {
    while (true) {
      const Result<bool> more = read_repeat(text, position);
      if (!more.ok()) return more.errors();
      if (!more.value()) return {};
    }
  }

  // Advances to the next repeat, of this turn, the next turn or the next part; false at the end.
  Result<bool> read_repeat(const OrderStream& text, StreamPosition& position) {
    position.left = 0;
    while (position.part < text.parts.size()) {
      const OrderPart& part = text.parts[position.part];
      if (position.begun && position.repeat < part.repeats.size()) {
        return read_items(part, position);
      }
      const Result<bool> more = next_turn(text, part, position);
      if (!more.ok()) return more.errors();
      position.repeat = 0;
      if (more.value()) continue;
      ++position.part;
      position.begun = false;
    }
    return false;
  }

  Result<bool> read_items(const OrderPart& part, StreamPosition& position) {
    const OrderRepeat& repeat = part.repeats[position.repeat++];
    names_of_ = &part;
    loops_of_ = &position;
    const Result<std::int64_t> count = counted(repeat.count, span_of(repeat.count, repeat.span));
    Diagnostics errors = count.ok() ? Diagnostics{} : count.errors();
    position.lanes.clear();
    for (const OrderStep& step : repeat.steps) {
      if (!errors.empty() || count.value() == 0) break;  // then the lanes need not exist
      const Result<int> lane = lane_of(step);
      if (!lane.ok()) errors = lane.errors();
      if (lane.ok()) position.lanes.push_back(lane.value());
    }
    names_of_ = nullptr;
    if (!errors.empty()) return errors;
    const auto length = static_cast<std::int64_t>(repeat.steps.size());
    if (count.value() > kMostCount / length) return Diagnostics{too_long("items of a stream")};
    position.left = count.value() * length;
    return true;
  }

  // Advances the innermost loop; a loop that has ended restarts after the loop around it advances.
  // Without loops there is one turn.
  Result<bool> next_turn(const OrderStream& text, const OrderPart& part, StreamPosition& position) {
    bool begins = !position.begun;
    position.begun = true;
    if (part.loops.empty()) return begins;
    position.loops.resize(part.loops.size());
    names_of_ = &part;
    loops_of_ = &position;
    std::size_t i = begins ? 0 : part.loops.size() - 1;
    while (true) {
      if (--work_.left < 0) return too_much_work();
      StreamPosition::Loop& loop = position.loops[i];
      bool runs = begins || loop.value < loop.last;
      if (begins) {
        const OrderLoop& range = part.loops[i];
        const Result<std::int64_t> first = whole(range.first, span_of(range.first, text.span));
        if (!first.ok()) return first.errors();
        const Result<std::int64_t> last = whole(range.last, span_of(range.last, text.span));
        if (!last.ok()) return last.errors();
        loop = {first.value(), last.value()};
        runs = range.exclusive ? loop.value < loop.last : loop.value <= loop.last;
        if (runs && range.exclusive) --loop.last;
      } else if (runs) {
        ++loop.value;
      }
      if (runs && i + 1 == part.loops.size()) break;
      if (!runs && i == 0) {
        names_of_ = nullptr;
        return false;
      }
      runs ? ++i : --i;
      begins = runs;
    }
    names_of_ = nullptr;
    return true;
  }

  Diagnostics ended(const OrderStream& stream, const StreamPosition& position) const {
    return {{"order-stream-ended",
             fmt::format("stream '{}' has ended after {} item{}, and one more is taken {}",
                         stream.name, position.taken, position.taken == 1 ? "" : "s", where()),
             "a stream leaves a lane out once all its microbatches are listed; let the counts add "
             "up to what is left",
             stream.span}};
  }

  Result<int> lane_of(const OrderStep& step) {
    std::int64_t chunk = 0;
    if (step.chunk) {
      const Result<std::int64_t> value = whole(*step.chunk, step.chunk->span);
      if (!value.ok()) return value.errors();
      chunk = value.value();
    }
    const auto chunks = static_cast<std::int64_t>(stages_.size());
    if (chunk < 0 || chunk >= chunks) {
      return Diagnostic{"order-no-such-chunk",
                        fmt::format("there is no chunk {} {}", chunk, where()),
                        fmt::format("rank {} has chunks 0 .. {}", rank_, chunks - 1),
                        step.chunk ? step.chunk->span : step.span};
    }
    const int stage = stages_[static_cast<std::size_t>(chunk)];
    const int lane = program_.lane_of(step.op, stage);
    if (lane < 0) {
      return Diagnostic{
          "order-no-such-lane",
          fmt::format("stage {} has no {} ({})", stage, at(program_.ops, step.op).name, where()),
          "its `when`, or `on m where`, is false there; give it a count of 0", step.span};
    }
    return lane;
  }

  static Span span_of(const Expr& expr, Span otherwise) {
    return expr.span.end > 0 ? expr.span : otherwise;
  }

  // A count, which must not be negative.
  Result<std::int64_t> counted(const Expr& expr, Span span) {
    const Result<std::int64_t> count = whole(expr, span);
    if (!count.ok() || count.value() >= 0) return count;
    return Diagnostic{
        "order-negative-count", fmt::format("this count is {} {}", count.value(), where()),
        "a count must be 0 or more for every rank and every microbatch count in range", span};
  }

  Result<std::int64_t> whole(const Expr& expr, Span span) {
    const Result<Rational> value = evaluate(expr, lookup());
    if (!value.ok()) return placed(value.errors());
    if (value.value().is_integer()) return value.value().numerator;
    return Diagnostic{"expr-not-integer",
                      fmt::format("{}/{} is no integer, {}", value.value().numerator,
                                  value.value().denominator, where()),
                      "use div, floor or ceil to round", span};
  }

  Diagnostics placed(Diagnostics errors) const {
    for (Diagnostic& error : errors) error.message += ", " + where();
    return errors;
  }

  Diagnostics too_much_work() const {
    work_.ran_out = true;
    return {too_long("turns of its streams' loops")};
  }

  Diagnostic too_long(const char* of) const {
    return {
        "order-too-long",
        fmt::format("order '{}' has more than {} {} {}", order_.name, kMostOrderTasks, of, where()),
        "use fewer microbatches", order_.span};
  }

  std::string where() const {
    return fmt::format("on rank {} with {} microbatch{}", rank_, microbatches_,
                       microbatches_ == 1 ? "" : "es");
  }

  Lookup lookup() const {
    return [this](std::string_view name) -> std::optional<Rational> {
      for (std::size_t i = 0; names_of_ != nullptr && i < names_of_->loops.size(); ++i) {
        if (names_of_->loops[i].variable == name) return Rational{loops_of_->loops[i].value, 1};
      }
      for (const auto& [known, value] : names_) {
        if (known == name) return value;
      }
      return std::nullopt;
    };
  }

  std::int64_t tasks_of(int lane) const { return program_.tasks_of(lane, microbatches_); }
  std::int64_t& listed(int lane) { return listed_[static_cast<std::size_t>(lane - first_lane_)]; }
  StreamPosition& position_of(int stream) { return positions_[static_cast<std::size_t>(stream)]; }

  const Program& program_;
  const Order& order_;
  int rank_;
  int microbatches_;
  const std::vector<int>& stages_;  // the rank's stages, by chunk
  ExpansionWork& work_;
  int first_lane_;
  std::vector<std::int64_t> listed_;       // per own lane: how often it is listed so far
  std::vector<StreamPosition> positions_;  // per stream
  std::vector<std::pair<std::string, Rational>> names_;
  const OrderPart* names_of_ = nullptr;  // the part whose loop variables are known
  const StreamPosition* loops_of_ = nullptr;
  std::vector<OrderRun> runs_;
  std::int64_t total_ = 0;
};

}  // namespace

std::vector<std::vector<int>> stages_by_rank(const Program& program) {
  std::vector<std::vector<int>> stages(static_cast<std::size_t>(program.ranks));
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    stages[static_cast<std::size_t>(program.stages[s].rank)].push_back(static_cast<int>(s));
  }
  return stages;
}

Result<std::vector<OrderRun>> expand_runs(const Program& program, const Order& order, int rank,
                                          int microbatches, const std::vector<int>& stages,
                                          ExpansionWork& work) {
  return Expansion(program, order, rank, microbatches, stages, work).run();
}

}  // namespace ripeline::spec
