#include "spec/elaborate/orders.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/order_runs.h"

namespace ripeline::spec::elaboration {
namespace {

// Bounds the time spent on trying values; what lies beyond is found by whoever expands the order or
// checks the bound.
constexpr std::int64_t kMostTrials = 1'000'000;

// The microbatch counts to try: from the fewest on.
int last_tried(const MicrobatchRange& range) {
  const int most = range.max.value_or(static_cast<int>(kMostMicrobatches));
  return range.min + std::min(kTriedMicrobatches - 1, most - range.min);
}

// In an order and in an assertion `microbatches` stays a name, also where the range is one count.
Expr folded(const Work& work, const Expr& expr) {
  const Values values = global_values(work);
  return fold(expr, [lookup = values.lookup()](std::string_view name) -> std::optional<Rational> {
    if (name == "microbatches") return std::nullopt;
    return lookup(name);
  });
}

class OrderMaker {
 public:
  OrderMaker(Work& work, const ast::Order& written) : work_(work), written_(written) {
    order_.name = written.name.text;
    order_.span = written.name.span;
  }

  Order make() {
    order_.file = written_.csv;
    for (const ast::OrderItem& item : written_.items) {
      if (const auto* let = std::get_if<ast::Let>(&item.value)) {
        order_.lets.push_back({let->name.text, folded(work_, let->value)});
      } else if (const auto* stream = std::get_if<ast::Stream>(&item.value)) {
        add_stream(*stream);
      } else {
        order_.repeats.push_back(made_repeat(std::get<ast::Repeat>(item.value), item.span));
      }
    }
    return std::move(order_);
  }

 private:
  void add_stream(const ast::Stream& written) {
    OrderStream stream;
    stream.name = written.name.text;
    stream.span = written.name.span;
    for (const ast::StreamPart& part : written.parts) {
      OrderPart& made = stream.parts.emplace_back();
      for (const ast::StreamLoop& loop : part.loops) {
        made.loops.push_back({loop.variable.text, folded(work_, loop.range.first),
                              folded(work_, loop.range.last), loop.range.exclusive});
      }
      for (const ast::Repeat& repeat : part.repeats) {
        made.repeats.push_back(made_repeat(repeat, stream.span));
      }
    }
    order_.streams.push_back(std::move(stream));
  }

  OrderRepeat made_repeat(const ast::Repeat& written, Span span) {
    OrderRepeat repeat;
    repeat.span = span;
    repeat.count = written.count ? folded(work_, *written.count) : Expr::number(1);
    for (const ast::OrderStep& step : written.steps) repeat.steps.push_back(made_step(step));
    return repeat;
  }

  OrderStep made_step(const ast::OrderStep& written) {
    OrderStep step{work_.find_op(written.op.text), std::nullopt, written.op.span, -1};
    if (step.op < 0) {
      const auto named =
          std::find_if(order_.streams.begin(), order_.streams.end(),
                       [&](const OrderStream& stream) { return stream.name == written.op.text; });
      step.stream = static_cast<int>(named - order_.streams.begin());
    } else if (written.chunk) {
      step.chunk = folded(work_, *written.chunk);
    } else {
      require_one_chunk(written);
    }
    return step;
  }

  void require_one_chunk(const ast::OrderStep& step) {
    for (std::size_t rank = 0; rank < work_.rank_stages.size(); ++rank) {
      const std::size_t chunks = work_.rank_stages[rank].size();
      if (chunks == 1) continue;
      work_.error("order-without-chunk",
                  fmt::format("rank {} has {} chunks, and '{}' does not say which", rank, chunks,
                              step.op.text),
                  fmt::format("write {}@0 for chunk 0", step.op.text), step.op.span);
      return;
    }
  }

  Work& work_;
  const ast::Order& written_;
  Order order_;
};

// Reports what goes wrong for the fewest microbatches.
void check_order(Work& work, const Order& order) {
  const MicrobatchRange& range = work.program.microbatches;
  ExpansionWork left{kMostTrials, false};
  for (int m = range.min; m <= last_tried(range); ++m) {
    for (int rank = 0; rank < work.program.ranks; ++rank) {
      --left.left;
      const auto runs = expand_runs(work.program, order, rank, m, at(work.rank_stages, rank), left);
      if (left.ran_out) return;
      if (runs.ok()) continue;
      work.error(runs.errors());
      return;
    }
  }
}

class HintMaker {
 public:
  HintMaker(Work& work, const ast::Hint& written) : work_(work), written_(written) {
    hint_.name = written.name.text;
  }

  Hint make() {
    for (const ast::HintClause& clause : written_.clauses) {
      const std::string& word = clause.keyword.text;
      if (word == "prefer" || word == "rounds") {
        set_rule(clause, word == "prefer" ? Hint::Rule::prefer : Hint::Rule::rounds);
        add_ops(clause, hint_.ops);
      } else if (word == "fill") {
        add_ops(clause, hint_.fill);
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
        if (!clause.names.empty()) hint_.order = work_.find_order(clause.names.front().text);
      }
    }
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
                  "a hint has one of prefer, rounds and follow", clause.keyword.span);
    }
    hint_.rule = rule;
  }

  void add_ops(const ast::HintClause& clause, std::vector<int>& list) {
    for (const ast::Name& name : clause.names) {
      const int op = work_.find_op(name.text);
      if (std::find(listed_.begin(), listed_.end(), op) != listed_.end()) {
        work_.error("hint-op-twice", fmt::format("'{}' is listed twice", name.text),
                    "a hint lists an op once", name.span);
        continue;
      }
      listed_.push_back(op);
      list.push_back(op);
    }
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
  std::vector<int> listed_;
  Patience patience_;
  const ast::HintClause* waits_ = nullptr;    // notices or forecasts
  const ast::HintClause* setting_ = nullptr;  // patience, yield or learns
};

// Only what the dispatch uses matters: an unused hint or order changes nothing. Of a file, tasks
// are followed, and no lane is next.
void list_unsupported_clauses(Work& work, const ast::Hint& hint, const Order* order) {
  if (order == nullptr || !order->file) return;
  for (const ast::HintClause& clause : hint.clauses) {
    const std::string& word = clause.keyword.text;
    if (word == "notices" || word == "forecasts" || word == "fill") {
      work.unsupported("hint " + word + " with an order from a file", clause.span);
    }
  }
}

// A hint that waits chooses by what the clock says, which is not the same at two members.
void check_waiting_group(Work& work, const ast::Hint& written) {
  const Program& program = work.program;
  const TensorParallel& group = program.tensor_parallel;
  const bool all_choose = group.agree == Agree::intersection || group.agree == Agree::vote;
  const bool governed = std::any_of(program.lanes.begin(), program.lanes.end(),
                                    [](const Lane& lane) { return lane.collectives > 0; });
  if (!program.dispatch.hint.patience || group.members == 1 || !all_choose || !governed) return;
  work.error("hint-waits-in-group",
             fmt::format("hint '{}' waits, and {} members agree by {}", written.name.text,
                         group.members, name_of(group.agree)),
             "each would wait by its own clock: let them `agree by leader`, or remove notices and "
             "forecasts",
             work.tensor_parallel.span);
}

void make_ready_dispatch(Work& work, const ast::Name& by) {
  Program& program = work.program;
  const int hint = work.find_hint(by.text);
  const int order = work.find_order(by.text);
  if (hint >= 0) {
    program.dispatch.hint = at(program.hints, hint);
    const int followed = program.dispatch.hint.order;
    list_unsupported_clauses(work, *work.hints[static_cast<std::size_t>(hint)].node,
                             followed < 0 ? nullptr : &at(program.orders, followed));
    check_waiting_group(work, *work.hints[static_cast<std::size_t>(hint)].node);
  } else if (order >= 0) {
    program.dispatch.hint = {by.text, Hint::Rule::order, {}, {}, order, {}};
  } else {
    Names names = work.hint_names();
    const Names orders = work.order_names();
    names.insert(names.end(), orders.begin(), orders.end());
    work.error("dispatch-unknown-name", fmt::format("no hint or order is called '{}'", by.text),
               choices("hints and orders", by.text, names), by.span);
  }
}

// The order that is kept room for. It is read beside the hint, so that a hint that follows one
// follows this one.
void make_kept_order(Work& work, const ast::Name& keeps) {
  const Program& program = work.program;
  Dispatch& dispatch = work.program.dispatch;
  const int order = work.find_order(keeps.text);
  if (order < 0) {
    work.error("dispatch-unknown-order", fmt::format("no order is called '{}'", keeps.text),
               choices("orders", keeps.text, work.order_names()), keeps.span);
    return;
  }
  if (at(program.orders, order).file) {
    work.unsupported("keeping an order from a file", keeps.span);
    return;
  }
  const int followed = dispatch.hint.order;
  if (followed >= 0 && followed != order) {
    const std::string& name = at(program.orders, followed).name;
    work.error("keeping-another-order",
               fmt::format("the hint follows '{}', so room is kept for that", name),
               fmt::format("write `keeping {}`", name), keeps.span);
    return;
  }
  const bool engines = std::any_of(program.lanes.begin(), program.lanes.end(),
                                   [](const Lane& lane) { return lane.engine != Engine::compute; });
  if (engines) {
    work.error("keeping-engines", "`keeping` is for ranks that run one task at a time",
               "remove it, or let every op run on compute", keeps.span);
    return;
  }
  if (!program.pairs.empty()) {
    work.error("keeping-pairs", "`keeping` is for ranks that run one task at a time",
               "remove it, or the pairs", keeps.span);
    return;
  }
  dispatch.keeps = order;
}

void make_dispatch(Work& work) {
  const ast::Dispatch& written = *work.dispatch.node;
  Dispatch& dispatch = work.program.dispatch;
  dispatch.in_order = written.in_order;
  dispatch.span = work.dispatch.span;
  if (!written.in_order) {
    if (written.by) make_ready_dispatch(work, *written.by);
    if (written.keeps) make_kept_order(work, *written.keeps);
    return;
  }
  const std::string name = written.by ? written.by->text : std::string();
  dispatch.order = work.find_order(name);
  if (dispatch.order >= 0) return;
  work.error("dispatch-unknown-order", fmt::format("no order is called '{}'", name),
             work.find_hint(name) >= 0
                 ? fmt::format("'{}' is a hint: write `dispatch ready by {};`", name, name)
                 : choices("orders", name, work.order_names()),
             written.by ? written.by->span : work.dispatch.span);
}

void check_bound(Work& work, const ast::Assert& written, int resource) {
  const Program& program = work.program;
  const MicrobatchRange& range = program.microbatches;
  const Names names = names_in(written.bound);
  const bool per_instance = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "s" || name == "r" || name == "chunks";
  });
  const bool per_rank = at(program.resources, resource).per_rank;
  const int all = per_rank ? program.ranks : static_cast<int>(program.stages.size());
  const int instances = per_instance ? all : 1;
  Values values = global_values(work);
  std::int64_t trials = 0;
  for (int m = range.min; m <= last_tried(range); ++m) {
    values.set("microbatches", m);
    for (int i = 0; i < instances; ++i) {
      if (++trials > kMostTrials) return;
      per_rank ? set_rank(values, work, i) : set_stage(values, work, i);
      const std::string where = fmt::format(", for {} {} with {} microbatch{}",
                                            per_rank ? "rank" : "stage", i, m, m == 1 ? "" : "es");
      if (!integer_of(work, written.bound, values, where)) return;
    }
  }
}

}  // namespace

void make_orders(Work& work) {
  for (const auto& item : work.orders) {
    work.program.orders.push_back(OrderMaker(work, *item.node).make());
  }
  if (work.failed()) return;
  for (const Order& order : work.program.orders) {
    if (!order.file) check_order(work, order);
  }
}

void make_hints(Work& work) {
  for (const auto& item : work.hints) {
    work.program.hints.push_back(HintMaker(work, *item.node).make());
  }
  make_dispatch(work);
}

void make_assertions(Work& work) {
  for (const auto& item : work.assertions) {
    const int resource = work.find_resource(item.node->resource.text);
    work.program.assertions.push_back({resource, folded(work, item.node->bound), item.span});
    check_bound(work, *item.node, resource);
  }
}

}  // namespace ripeline::spec::elaboration
