#include "spec/elaborate/hints.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/priority.h"
#include "spec/ranges.h"

namespace ripeline::spec::elaboration {
namespace {

class HintMaker {
 public:
  HintMaker(Work& work, const ast::Hint& written) : work_(work), written_(written) {
    hint_.name = written.name.text;
  }

  Hint make() {
    for (const ast::HintClause& clause : written_.clauses) {
      const std::string& word = clause.keyword.text;
      if (word == "prefer" || word == "rounds" || word == "priority") {
        set_rule(clause, word == "prefer"   ? Hint::Rule::prefer
                         : word == "rounds" ? Hint::Rule::rounds
                                            : Hint::Rule::priority);
        add_places(clause, hint_.places, places_);
      } else if (word == "fill") {
        add_places(clause, hint_.fill, fill_);
      } else if (word == "notices" || word == "forecasts") {
        waits_ = &clause;
        patience_.forecasts = patience_.forecasts || word == "forecasts";
      } else if (word == "learns") {
        if (setting_ == nullptr) setting_ = &clause;
        patience_.learns = true;
      } else if (word == "patience" || word == "yield") {
        if (setting_ == nullptr) setting_ = &clause;
        set(clause, word == "patience" ? patience_.patience : patience_.yield);
      } else if (word == "follow") {
        set_rule(clause, Hint::Rule::order);
        if (clause.order) hint_.order = work_.find_order(clause.order->text);
      }
    }
    check_twice();
    if (waits_ != nullptr) {
      set_patience();
    } else if (setting_ != nullptr) {
      work_.error("hint-without-notices", fmt::format("{} without notices", setting_->keyword.text),
                  "without `notices;` or `forecasts;` a hint knows nothing to wait for",
                  setting_->keyword.span);
    }
    return std::move(hint_);
  }

 private:
  void set_patience() {
    if (hint_.rule == Hint::Rule::order) {
      hint_.patience = patience_;
      return;
    }
    work_.error("hint-not-following",
                fmt::format("{} in a hint that follows no order", waits_->keyword.text),
                "it waits for what an order has next: add `follow ORDER;`", waits_->keyword.span);
  }

  void set_rule(const ast::HintClause& clause, Hint::Rule rule) {
    if (hint_.rule != Hint::Rule::none) {
      work_.error("hint-two-rules", fmt::format("hint '{}' has a second rule", written_.name.text),
                  "a hint has one of prefer, rounds, priority and follow", clause.keyword.span);
    }
    hint_.rule = rule;
  }

  // The places of one list as written, which have their positions in the source.
  using Written = std::vector<const ast::OrderStep*>;

  void add_places(const ast::HintClause& clause, std::vector<HintPlace>& list, Written& written) {
    for (const ast::HintPlace& place : clause.places) {
      list.push_back({.op = work_.find_op(place.lane.op.text), .chunk = chunk_of(place.lane)});
      if (place.priority) list.back().priority = priority_of(*place.priority, list.back());
      written.push_back(&place.lane);
    }
  }

  // The expression with params replaced; it is checked for every lane of the place.
  Expr priority_of(const Expr& written, const HintPlace& place) {
    const Values globals = global_values(work_);
    Expr expr = fold(written, globals.lookup());
    for (const Lane& lane : work_.program.lanes) {
      if (place.lists(lane) && !is_safe(expr, lane)) break;
    }
    return expr;
  }

  bool is_safe(const Expr& expr, const Lane& lane) {
    Values values;
    set_stage(values, work_, lane.stage);
    const Expr here = fold(expr, values.lookup());
    if (!counts_resources(here, lane)) return false;
    const Result<Range> range = range_of(here, [&](std::string_view name) -> std::optional<Range> {
      const MicrobatchRange& counts = work_.program.microbatches;
      const std::int64_t most = counts.max.value_or(kMostMicrobatches);
      if (name == "m") return Range{0, std::max<std::int64_t>(most - 1, 0)};
      if (name == "microbatches") return Range{counts.min, most};
      const int resource = work_.find_resource(name);
      return Range{0, *at(work_.program.pools, pool_of(work_.program, resource, lane)).capacity};
    });
    if (!range.ok()) work_.error(range.errors());
    return range.ok();
  }

  // Checks that each resource that a priority reads has a capacity, since ranks count no others.
  bool counts_resources(const Expr& expr, const Lane& lane) {
    for (const std::string& name : names_in(expr)) {
      const int resource = work_.find_resource(name);
      if (resource < 0 ||
          at(work_.program.pools, pool_of(work_.program, resource, lane)).capacity) {
        continue;
      }
      work_.error("priority-no-capacity", fmt::format("'{}' has no capacity", name),
                  "a priority reads what is counted, which are resources that have a capacity",
                  expr.span);
      return false;
    }
    return true;
  }

  // The chunk by rank; empty if each rank has one chunk, since the place then lists every chunk.
  std::vector<int> chunk_of(const ast::OrderStep& step) {
    std::vector<int> chunk;
    if (!step.chunk) return chunk;
    Values values = global_values(work_);
    bool several = false;
    for (int rank = 0; rank < work_.program.ranks; ++rank) {
      set_rank(values, work_, rank);
      const std::string where = fmt::format(", on rank {}", rank);
      const auto value = integer_of(work_, *step.chunk, values, where);
      if (!value) return {};
      const auto chunks = static_cast<std::int64_t>(at(work_.rank_stages, rank).size());
      if (*value < 0 || *value >= chunks) {
        work_.error("hint-no-such-chunk", fmt::format("there is no chunk {}{}", *value, where),
                    fmt::format("rank {} has chunks 0 .. {}", rank, chunks - 1), step.chunk->span);
        return {};
      }
      chunk.push_back(static_cast<int>(*value));
      several = several || chunks > 1;
    }
    return several ? chunk : std::vector<int>();
  }

  // A place has no effect after another that covers it, except in rounds, where it is one more
  // turn. Compares texts, since different expressions may be one chunk on a rank with few chunks.
  void check_twice() const {
    Written earlier;
    const auto check = [&](const Written& list, bool turns) {
      for (const ast::OrderStep* step : list) {
        const auto says_it = [&](const ast::OrderStep* other) {
          return other->op.text == step->op.text &&
                 (!other->chunk || (step->chunk && same(*other->chunk, *step->chunk)));
        };
        if (!turns && std::any_of(earlier.begin(), earlier.end(), says_it)) {
          work_.error("hint-op-twice", fmt::format("'{}' is listed twice", step->op.text),
                      "only `rounds` may list an op, or a chunk of it, more than once",
                      step->op.span);
        }
        earlier.push_back(step);
      }
    };
    check(places_, hint_.rule == Hint::Rule::rounds);
    check(fill_, false);
  }

  void set(const ast::HintClause& clause, Rational& setting) {
    if (!clause.value) return;
    const auto value = value_of(work_, *clause.value, global_values(work_));
    if (value) setting = *value;
    if (value && value->numerator < 0) {
      work_.error("hint-negative-setting", fmt::format("{} is negative", clause.keyword.text),
                  "the least is 0", clause.value->span);
    }
  }

  Work& work_;
  const ast::Hint& written_;
  Hint hint_;
  Written places_;
  Written fill_;
  Patience patience_;
  const ast::HintClause* waits_ = nullptr;    // notices or forecasts
  const ast::HintClause* setting_ = nullptr;  // patience, yield or learns
};

}  // namespace

Hint made_hint(Work& work, const ast::Hint& written) { return HintMaker(work, written).make(); }

}  // namespace ripeline::spec::elaboration
