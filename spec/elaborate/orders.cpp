#include "spec/elaborate/orders.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/elaborate/hints.h"
#include "spec/order_runs.h"

namespace ripeline::spec::elaboration {
namespace {

// Bounds the time spent on trying values. Errors beyond this limit are found by the code that
// expands the order or checks the bound.
constexpr std::int64_t kMostTrials = 1'000'000;

// The largest microbatch count to try; the smallest is the range's first.
int last_tried(const MicrobatchRange& range) {
  const int most = range.max.value_or(static_cast<int>(kMostMicrobatches));
  return range.min + std::min(kTriedMicrobatches - 1, most - range.min);
}

// In an order and in an assertion `microbatches` stays a name, even if the range is one count.
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
      } else if (const auto* block = std::get_if<ast::RankBlock>(&item.value)) {
        add_block(*block);
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

  void add_block(const ast::RankBlock& written) {
    const auto rank = integer_of(work_, written.rank, global_values(work_), "");
    if (!rank) return;
    const int ranks = work_.program.ranks;
    if (*rank < 0 || *rank >= ranks) {
      work_.error("order-no-such-rank", fmt::format("there is no rank {}", *rank),
                  fmt::format("the ranks are 0 .. {}", ranks - 1), written.rank.span);
      return;
    }
    for (const ast::Repeat& repeat : written.repeats) {
      order_.repeats.push_back(
          made_repeat(repeat, repeat.steps.front().op.span, static_cast<int>(*rank)));
    }
  }

  OrderRepeat made_repeat(const ast::Repeat& written, Span span, int rank = -1) {
    OrderRepeat repeat;
    repeat.span = span;
    repeat.count = written.count ? folded(work_, *written.count) : Expr::number(1);
    repeat.rank = rank;
    for (const ast::OrderStep& step : written.steps) {
      repeat.steps.push_back(made_step(step, repeat));
    }
    return repeat;
  }

  OrderStep made_step(const ast::OrderStep& written, const OrderRepeat& repeat) {
    OrderStep step{work_.find_op(written.op.text), std::nullopt, written.op.span, -1};
    if (step.op < 0) {
      const auto named =
          std::find_if(order_.streams.begin(), order_.streams.end(),
                       [&](const OrderStream& stream) { return stream.name == written.op.text; });
      step.stream = static_cast<int>(named - order_.streams.begin());
    } else if (written.chunk) {
      step.chunk = folded(work_, *written.chunk);
    } else {
      require_one_chunk(written, repeat);
    }
    return step;
  }

  void require_one_chunk(const ast::OrderStep& step, const OrderRepeat& repeat) {
    for (std::size_t rank = 0; rank < work_.rank_stages.size(); ++rank) {
      const std::size_t chunks = work_.rank_stages[rank].size();
      if (chunks == 1 || !repeat.is_of(static_cast<int>(rank))) continue;
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

// The errors of the order for that count; empty if `left` ran out.
Diagnostics wrong_with(const Work& work, const Order& order, int count, ExpansionWork& left) {
  for (int rank = 0; rank < work.program.ranks; ++rank) {
    --left.left;
    const auto runs =
        expand_runs(work.program, order, rank, count, at(work.rank_stages, rank), left);
    if (left.ran_out) return {};
    if (!runs.ok()) return runs.errors();
  }
  return {};
}

// The smallest count above `wrong`, in the text's range, with which the order has a meaning, if it
// has one for all larger counts that are tried; else nullopt.
std::optional<int> right_from(const Work& work, const Order& order, int wrong) {
  MicrobatchRange range = work.written_range;
  if (!range.contains(wrong + 1)) return std::nullopt;
  range.min = wrong + 1;
  ExpansionWork left{kMostTrials, false};
  std::optional<int> fewest;
  for (int m = range.min; m <= last_tried(range); ++m) {
    const bool right = wrong_with(work, order, m, left).empty();
    if (left.ran_out || (fewest && !right)) return std::nullopt;
    if (right && !fewest) fewest = m;
  }
  return fewest;
}

bool is_too_long(const Diagnostics& wrong) {
  return std::any_of(wrong.begin(), wrong.end(),
                     [](const Diagnostic& d) { return d.id == "order-too-long"; });
}

// The most microbatches below `long_one` with which the order is not too long; 0 if the order
// always is, or if finding out takes too long.
int most_of(const Work& work, const Order& order, int long_one) {
  int most = 0;
  while (long_one - most > 1) {
    const int middle = most + (long_one - most) / 2;
    ExpansionWork left{kMostTrials, false};
    const bool long_too = is_too_long(wrong_with(work, order, middle, left));
    if (left.ran_out) return 0;
    (long_too ? long_one : most) = middle;
  }
  return most;
}

// Reports the errors of the smallest microbatch count that has some.
void check_order(Work& work, const Order& order) {
  constexpr int kUsualMost = 64;  // upper end of a suggested range
  const MicrobatchRange& range = work.program.microbatches;
  ExpansionWork left{kMostTrials, false};
  for (int m = range.min; m <= last_tried(range); ++m) {
    Diagnostics wrong = wrong_with(work, order, m, left);
    if (left.ran_out) return;
    if (wrong.empty()) continue;
    const int most_short = is_too_long(wrong) ? most_of(work, order, m) : 0;
    if (most_short > 0) wrong.front().hint += fmt::format(": the most are -m {}", most_short);
    if (const auto fewest = right_from(work, order, m)) {
      const int most = work.written_range.max.value_or(std::max(kUsualMost, *fewest));
      for (Diagnostic& d : wrong) {
        d.hint += fmt::format(
            "{}from {} microbatches on the order has a meaning: write `microbatches {} .. {};`, or "
            "give -m {}..{}",
            d.hint.empty() ? "" : "; ", *fewest, *fewest, most, *fewest, most);
      }
    }
    work.error(wrong);
    return;
  }
}

// Looks only at the hint and order that the dispatch uses. With an order from a file, a hint
// follows tasks and has no next lane; and a hint that waits knows fillers by op, not by chunk.
void list_unsupported_clauses(Work& work, const ast::Hint& hint, const Order* order) {
  const Hint& made = work.program.dispatch.hint;
  const bool one_chunk = std::any_of(made.fill.begin(), made.fill.end(),
                                     [](const HintPlace& place) { return !place.chunk.empty(); });
  for (const ast::HintClause& clause : hint.clauses) {
    const std::string& word = clause.keyword.text;
    const bool waits = word == "notices" || word == "forecasts";
    if (order != nullptr && order->file && (waits || word == "fill")) {
      work.unsupported("hint " + word + " with an order from a file", clause.span);
    }
    if (waits && one_chunk) {
      work.unsupported("hint " + word + " with fill at one chunk", clause.span);
    }
  }
}

// A hint that waits chooses by the clock, which differs between members.
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

// Sets the order for which room is kept. The hint was read before; if the hint follows an order, it
// must be this order.
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
    work.program.hints.push_back(made_hint(work, *item.node));
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
