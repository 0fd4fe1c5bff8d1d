#include "codegen/order_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/expression_text.h"
#include "codegen/outline.h"
#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Expr;
using spec::Program;

constexpr std::size_t kWidth = 97;  // columns of a function's lines, without their indent
// A let's name must not be one that the function uses for something else.
std::string local(const std::string& name) {
  static const std::set<std::string> kTaken = {"order", "place", "facts"};
  const std::string word = name.substr(0, name.find_last_not_of('_') + 1);
  return kTaken.contains(word) ? name + "_" : identifier(name);
}

struct OrderText {
  explicit OrderText(const Outline& o)
      : outline(o), order(folded(o)), expressions(uses_fractions(order), local) {}

  // `chunks` is a number where it is the same on all ranks.
  static spec::Order folded(const Outline& outline) {
    const Program& program = outline.program;
    spec::Order order = at(program.orders, dispatched_order(program));
    for (int rank = 0; rank < program.ranks; ++rank) {
      if (program.chunks(rank) != program.chunks(0)) return order;
    }
    const spec::Lookup lookup = [&](std::string_view name) -> std::optional<spec::Rational> {
      if (name == "chunks") return spec::Rational{program.chunks(0), 1};
      return std::nullopt;
    };
    for (spec::OrderLet& let : order.lets) let.value = fold(let.value, lookup);
    for (spec::OrderStream& stream : order.streams) {
      for (spec::OrderPart& part : stream.parts) {
        for (spec::OrderLoop& loop : part.loops) {
          loop.first = fold(loop.first, lookup);
          loop.last = fold(loop.last, lookup);
        }
        fold_repeats(part.repeats, lookup);
      }
    }
    fold_repeats(order.repeats, lookup);
    return order;
  }

  static void fold_repeats(std::vector<spec::OrderRepeat>& repeats, const spec::Lookup& lookup) {
    for (spec::OrderRepeat& repeat : repeats) {
      repeat.count = fold(repeat.count, lookup);
      for (spec::OrderStep& step : repeat.steps) {
        if (step.chunk) step.chunk = fold(*step.chunk, lookup);
      }
    }
  }

  // Every expression but those of lets.
  static std::vector<Expr> parts(const spec::Order& order) {
    std::vector<Expr> found;
    const auto add = [&](const std::vector<spec::OrderRepeat>& repeats) {
      for (const spec::OrderRepeat& repeat : repeats) {
        found.push_back(repeat.count);
        for (const spec::OrderStep& step : repeat.steps) {
          if (step.chunk) found.push_back(*step.chunk);
        }
      }
    };
    for (const spec::OrderStream& stream : order.streams) {
      for (const spec::OrderPart& part : stream.parts) {
        for (const spec::OrderLoop& loop : part.loops) {
          found.push_back(loop.first);
          found.push_back(loop.last);
        }
        add(part.repeats);
      }
    }
    add(order.repeats);
    return found;
  }

  static bool uses_fractions(const spec::Order& order) {
    const std::vector<Expr> all = parts(order);
    return std::any_of(order.lets.begin(), order.lets.end(),
                       [](const spec::OrderLet& let) { return has_fractions(let.value); }) ||
           std::any_of(all.begin(), all.end(), [](const Expr& e) { return has_fractions(e); });
  }

  // Names that the text needs, through lets too.
  std::set<std::string> used() const {
    std::set<std::string> names;
    if (std::any_of(order.repeats.begin(), order.repeats.end(),
                    [this](const spec::OrderRepeat& repeat) {
                      return repeat.rank >= 0 && !repeat_text(repeat).empty();
                    })) {
      names.insert("r");
    }
    const auto add = [&](const Expr& expr) {
      for (const std::string& name : names_in(expr)) names.insert(name);
    };
    for (const Expr& part : parts(order)) add(part);
    for (auto let = order.lets.rbegin(); let != order.lets.rend(); ++let) {
      if (names.contains(let->name)) add(let->value);
    }
    return names;
  }

  std::string stream_text(const spec::OrderStream& stream) const {
    std::string text = fmt::format("core::OrderStream {};\n", local(stream.name));
    std::vector<std::string> parts;
    for (const spec::OrderPart& part : stream.parts) parts.push_back(part_text(stream, part));
    return text + lines(parts);
  }

  std::string item_text(const spec::OrderStream& stream, const spec::OrderStep& step,
                        const std::string& count) const {
    return fmt::format("{}.add({}, {}, {});", local(stream.name),
                       op_constant(outline.program, step.op),
                       step.chunk ? expressions.whole(*step.chunk) : "0", count);
  }

  std::string items_text(const spec::OrderStream& stream, const spec::OrderRepeat& repeat) const {
    if (repeat.steps.size() == 1) {
      return item_text(stream, repeat.steps.front(), expressions.whole(repeat.count));
    }
    std::vector<std::string> steps;
    for (const spec::OrderStep& step : repeat.steps) steps.push_back(item_text(stream, step, "1"));
    if (repeat.count.kind == Expr::Kind::number && repeat.count.value == spec::Rational{1, 1}) {
      return lines(steps);
    }
    return fill("for (std::int64_t place = 0; place < $count$; ++place) {\n  $steps$\n}",
                {{"count", expressions.number(repeat.count, ExpressionText::kSum)},
                 {"steps", lines(steps)}});
  }

  std::string part_text(const spec::OrderStream& stream, const spec::OrderPart& part) const {
    const char* type = expressions.type();
    std::vector<std::string> repeats;
    for (const spec::OrderRepeat& repeat : part.repeats) {
      repeats.push_back(items_text(stream, repeat));
    }
    const bool single = repeats.size() == 1 && part.repeats.front().steps.size() == 1;
    std::string text = lines(repeats);
    for (auto loop = part.loops.rbegin(); loop != part.loops.rend(); ++loop) {
      const std::string name = local(loop->variable);
      const std::string head = fmt::format(
          "for ({} {} = {}; {} {} {}; {})", type, name, expressions.number(loop->first), name,
          loop->exclusive ? "<" : "<=", expressions.number(loop->last, ExpressionText::kSum),
          expressions.has_fractions() ? name + " = " + name + " + 1" : "++" + name);
      const bool fits =
          single && loop == part.loops.rbegin() && head.size() + text.size() + 2 < kWidth;
      text = fits ? head + " " + text
                  : fill("$head$ {\n  $text$\n}", {{"head", head}, {"text", text}});
    }
    return text;
  }

  std::string repeat_text(const spec::OrderRepeat& repeat) const {
    std::vector<std::string> steps;
    for (const spec::OrderStep& step : repeat.steps) {
      if (step.stream >= 0) {
        const std::string& name = at(order.streams, step.stream).name;
        steps.push_back(local(name) + ".take(order);");
        continue;
      }
      steps.push_back(fmt::format("order.add({}, {});", op_constant(outline.program, step.op),
                                  step.chunk ? expressions.whole(*step.chunk) : "0"));
    }
    if (repeat.count.kind == Expr::Kind::number) {
      if (repeat.count.value == spec::Rational{0, 1}) return "";
      if (repeat.count.value == spec::Rational{1, 1}) return lines(steps);
    }
    const std::string loop = fmt::format("for (std::int64_t place = 0; place < {}; ++place)",
                                         expressions.number(repeat.count, ExpressionText::kSum));
    const bool fits = steps.size() == 1 && loop.size() + steps.front().size() < kWidth;
    if (fits) return loop + " " + steps.front();
    return fill("$loop$ {\n  $steps$\n}", {{"loop", loop}, {"steps", lines(steps)}});
  }

  // All repeats; those that stand for one rank in a row, behind one `if`.
  std::vector<std::string> repeat_texts() const {
    std::vector<std::string> texts;
    for (auto first = order.repeats.begin(); first != order.repeats.end();) {
      const auto last = std::find_if(first, order.repeats.end(), [&](const spec::OrderRepeat& r) {
        return r.rank != first->rank;
      });
      std::vector<std::string> group;
      for (auto repeat = first; repeat != last; ++repeat) {
        if (std::string text = repeat_text(*repeat); !text.empty()) {
          group.push_back(std::move(text));
        }
      }
      if (first->rank >= 0 && !group.empty()) {
        group = {fill("if (r == $rank$) {\n  $repeats$\n}",
                      {{"rank", std::to_string(first->rank)}, {"repeats", lines(group)}})};
      }
      texts.insert(texts.end(), group.begin(), group.end());
      first = last;
    }
    return texts;
  }

  const Outline& outline;
  spec::Order order;
  ExpressionText expressions;
};

const spec::Order& order_of(const Outline& outline) {
  return at(outline.program.orders, dispatched_order(outline.program));
}

// The rows of a file, as one table and where each rank's begin in it.
std::string order_table(const Outline& outline) {
  const spec::Order& order = order_of(outline);
  std::vector<std::string> tasks;
  std::vector<std::string> begins = {"0"};
  for (const auto& row : order.rows) {
    for (const spec::Task& task : row) {
      tasks.push_back(fmt::format("{{{}, {}}}", task.lane, task.microbatch));
    }
    begins.push_back(std::to_string(tasks.size()));
  }
  return fill(R"(// Order $order$, from a file: each rank's tasks (lane, microbatch), in order.
inline constexpr core::Task kOrder_$order$[] = {
    $tasks$
};
// Where those of each rank begin; and the end.
inline constexpr int kBegin_$order$[] = {
    $begins$
};
)",
              {{"order", order.name}, {"tasks", wrap(tasks, 92)}, {"begins", wrap(begins, 92)}});
}

}  // namespace

std::string order_function(const Outline& outline) {
  if (order_of(outline).file) return order_table(outline);
  const OrderText text(outline);
  const std::set<std::string> used = text.used();
  std::vector<std::string> parameters;
  for (const char* name : {"r", "chunks", "microbatches"}) {
    if (used.contains(name))
      parameters.push_back(fmt::format("{} {}", text.expressions.type(), name));
  }
  const std::vector<std::string> repeats = text.repeat_texts();
  parameters.push_back(repeats.empty() ? "core::OrderWriter& /*order*/"
                                       : "core::OrderWriter& order");
  std::string list = fmt::format("{}", fmt::join(parameters, ", "));
  const std::size_t head =
      text.order.name.size() + sizeof "inline void order_";  // with the parenthesis
  if (head + list.size() > kWidth) {
    list = fmt::format("{}", fmt::join(parameters, ",\n" + std::string(head, ' ')));
  }
  std::vector<std::string> body;
  for (const spec::OrderLet& let : text.order.lets) {
    if (!used.contains(let.name)) continue;
    body.push_back(fmt::format("const {} {} = {};", text.expressions.type(), local(let.name),
                               text.expressions.number(let.value)));
  }
  for (const spec::OrderStream& stream : text.order.streams) {
    body.push_back(text.stream_text(stream));
  }
  body.insert(body.end(), repeats.begin(), repeats.end());
  std::string chunks;
  if (used.contains("chunks")) {
    std::vector<std::string> counts;
    for (int rank = 0; rank < outline.program.ranks; ++rank) {
      counts.push_back(std::to_string(outline.program.chunks(rank)));
    }
    chunks = fmt::format("// Stages, by rank.\ninline constexpr int kChunks[] = {{{}}};\n\n",
                         fmt::join(counts, ", "));
  }
  return chunks + fill(R"(// Order $order$: its places$rank$.
inline void order_$order$($parameters$) {
  $body$
}
)",
                       {{"order", text.order.name},
                        {"rank", used.contains("r") ? " on rank r" : ""},
                        {"parameters", list},
                        {"body", lines(body)}});
}

bool has_fractions(const Outline& outline) {
  return dispatched_order(outline.program) >= 0 && !order_of(outline).file &&
         OrderText::uses_fractions(OrderText::folded(outline));
}

std::string write_order(const Outline& outline) {
  constexpr const char* kFunction =
      R"(static core::Status write_order(int $rank$, int $microbatches$,
                                core::OrderWriter& order) {
  $body$
  return {};
})";
  const std::string& name = order_of(outline).name;
  if (order_of(outline).file) {
    const std::string body = fill(R"(const int end = kBegin_$order$[rank + 1];
for (int place = kBegin_$order$[rank]; place < end; ++place) order.add(kOrder_$order$[place]);)",
                                  {{"order", name}});
    return fill(kFunction,
                {{"rank", "rank"}, {"microbatches", "/*microbatches*/"}, {"body", body}});
  }
  const std::set<std::string> used = OrderText(outline).used();
  std::string arguments;
  if (used.contains("r")) arguments += "rank, ";
  if (used.contains("chunks")) arguments += "kChunks[rank], ";
  if (used.contains("microbatches")) arguments += "microbatches, ";
  const bool by_rank = used.contains("r") || used.contains("chunks");
  return fill(kFunction, {{"rank", by_rank ? "rank" : "/*rank*/"},
                          {"microbatches",
                           used.contains("microbatches") ? "microbatches" : "/*microbatches*/"},
                          {"body", fmt::format("order_{}({}order);", name, arguments)}});
}

}  // namespace ripeline::codegen
