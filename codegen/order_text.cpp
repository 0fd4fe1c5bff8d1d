#include "codegen/parts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/expression_text.h"
#include "codegen/printer.h"

namespace ripeline::codegen {
namespace {

using spec::Expr;
using spec::Program;

constexpr std::size_t kWidth = 97;  // columns of a function's lines, without their indent

// The C++ name of a let; it must differ from the names that the function uses for other things.
std::string local(const std::string& name) {
  static const std::set<std::string> kTaken = {"order", "place", "facts"};
  const std::string word = name.substr(0, name.find_last_not_of('_') + 1);
  return kTaken.contains(word) ? name + "_" : identifier(name);
}

template <class Visit>
void each_expression(std::vector<spec::OrderRepeat>& repeats, const Visit& visit) {
  for (spec::OrderRepeat& repeat : repeats) {
    visit(repeat.count);
    for (spec::OrderStep& step : repeat.steps) {
      if (step.chunk) visit(*step.chunk);
    }
  }
}

template <class Visit>
void each_expression(spec::Order& order, const Visit& visit) {
  for (spec::OrderLet& let : order.lets) visit(let.value);
  for (spec::OrderStream& stream : order.streams) {
    for (spec::OrderPart& part : stream.parts) {
      for (spec::OrderLoop& loop : part.loops) {
        visit(loop.first);
        visit(loop.last);
      }
      each_expression(part.repeats, visit);
    }
  }
  each_expression(order.repeats, visit);
}

bool is_number(const Expr& expr, std::int64_t value) {
  return expr.kind == Expr::Kind::number && expr.value == spec::Rational{value, 1};
}

// `head` and the statements, on one line if there is only one statement and it fits.
std::string loop(const std::string& head, const std::string& statements) {
  const bool is_one =
      statements.find('\n') == std::string::npos && !statements.starts_with("for (");
  if (is_one && head.size() + statements.size() < kWidth) return head + " " + statements;
  return fill("$head$ {\n  $statements$\n}", {{"head", head}, {"statements", statements}});
}

std::string write_order(const char* rank, const char* microbatches, const std::string& body) {
  return fill(R"(static core::Status write_order(int $rank$, int $microbatches$,
                                core::OrderWriter& order) {
  $body$
  return {};
})",
              {{"rank", rank}, {"microbatches", microbatches}, {"body", body}});
}

// An order of expressions as a function of the names that it uses.
class OrderFunction {
 public:
  OrderFunction(const Program& program, spec::Order order, bool has_fractions)
      : program_(program),
        order_(std::move(order)),
        expressions_(has_fractions, [this](const std::string& name) {
          used_.insert(name);
          return local(name);
        }) {}
  OrderFunction(const OrderFunction&) = delete;
  OrderFunction& operator=(const OrderFunction&) = delete;

  RuleText text() {
    std::vector<std::string> body;
    for (const spec::OrderStream& stream : order_.streams) body.push_back(stream_text(stream));
    const std::vector<std::string> repeats = repeat_texts();
    body.insert(body.end(), repeats.begin(), repeats.end());
    // From the last let to the first, since the text of a let adds the names that it uses to used_.
    for (auto let = order_.lets.rbegin(); let != order_.lets.rend(); ++let) {
      if (!used_.contains(let->name)) continue;
      body.insert(body.begin(), fmt::format("const {} {} = {};", expressions_.type(),
                                            local(let->name), expressions_.number(let->value)));
    }
    RuleText text;
    if (used_.contains("chunks")) {
      text.functions =
          fmt::format("\n// Stages, by rank.\ninline constexpr int kChunks[] = {{{}}};\n",
                      fmt::join(chunk_counts(program_), ", "));
    }
    text.functions += function(repeats.empty(), body);
    text.members = member();
    text.has_fractions = expressions_.has_fractions();
    return text;
  }

 private:
  std::string function(bool is_empty, const std::vector<std::string>& body) const {
    std::vector<std::string> parameters;
    for (const char* name : {"r", "chunks", "microbatches"}) {
      if (used_.contains(name))
        parameters.push_back(fmt::format("{} {}", expressions_.type(), name));
    }
    parameters.emplace_back(is_empty ? "core::OrderWriter& /*order*/" : "core::OrderWriter& order");
    return fill(
        R"(
// Order $order$: its places$rank$.
$head$ {
  $body$
}
)",
        {{"order", order_.name},
         {"rank", used_.contains("r") ? " on rank r" : ""},
         {"head", call(fmt::format("inline void order_{}(", order_.name), parameters, kWidth)},
         {"body", lines(body)}});
  }

  std::string member() const {
    std::string arguments;
    if (used_.contains("r")) arguments += "rank, ";
    if (used_.contains("chunks")) arguments += "kChunks[rank], ";
    const bool by_rank = !arguments.empty();
    const bool by_count = used_.contains("microbatches");
    if (by_count) arguments += "microbatches, ";
    return write_order(by_rank ? "rank" : "/*rank*/",
                       by_count ? "microbatches" : "/*microbatches*/",
                       fmt::format("order_{}({}order);", order_.name, arguments));
  }

  std::string number(const Expr& expr) const {
    return expressions_.number(expr, ExpressionText::kSum);
  }
  std::string times(const Expr& count, const std::vector<std::string>& statements) const {
    if (is_number(count, 1)) return lines(statements);
    return loop(fmt::format("for (std::int64_t place = 0; place < {}; ++place)", number(count)),
                lines(statements));
  }
  std::string chunk(const spec::OrderStep& step) const {
    return step.chunk ? expressions_.whole(*step.chunk) : "0";
  }

  std::string stream_text(const spec::OrderStream& stream) const {
    std::string text = fmt::format("core::OrderStream {};\n", local(stream.name));
    std::vector<std::string> parts;
    for (const spec::OrderPart& part : stream.parts) parts.push_back(part_text(stream, part));
    return text + lines(parts);
  }

  std::string part_text(const spec::OrderStream& stream, const spec::OrderPart& part) const {
    std::vector<std::string> repeats;
    for (const spec::OrderRepeat& repeat : part.repeats) {
      repeats.push_back(items_text(stream, repeat));
    }
    std::string text = lines(repeats);
    for (auto l = part.loops.rbegin(); l != part.loops.rend(); ++l) {
      const std::string name = local(l->variable);
      const std::string next =
          expressions_.has_fractions() ? name + " = " + name + " + 1" : "++" + name;
      text = loop(fmt::format("for ({} {} = {}; {} {} {}; {})", expressions_.type(), name,
                              expressions_.number(l->first), name,
                              l->exclusive ? "<" : "<=", number(l->last), next),
                  text);
    }
    return text;
  }

  std::string items_text(const spec::OrderStream& stream, const spec::OrderRepeat& repeat) const {
    const auto item = [&](const spec::OrderStep& step, const std::string& count) {
      return fmt::format("{}.add({}, {}, {});", local(stream.name), op_constant(program_, step.op),
                         chunk(step), count);
    };
    if (repeat.steps.size() == 1) {
      return item(repeat.steps.front(), expressions_.whole(repeat.count));
    }
    std::vector<std::string> steps;
    for (const spec::OrderStep& step : repeat.steps) steps.push_back(item(step, "1"));
    return times(repeat.count, steps);
  }

  std::string repeat_text(const spec::OrderRepeat& repeat) const {
    if (is_number(repeat.count, 0)) return "";
    std::vector<std::string> steps;
    for (const spec::OrderStep& step : repeat.steps) {
      steps.push_back(
          step.stream >= 0
              ? local(at(order_.streams, step.stream).name) + ".take(order);"
              : fmt::format("order.add({}, {});", op_constant(program_, step.op), chunk(step)));
    }
    return times(repeat.count, steps);
  }

  // The texts of all repeats. Consecutive repeats for one rank are behind one `if`.
  std::vector<std::string> repeat_texts() {
    std::vector<std::string> texts;
    for (auto first = order_.repeats.begin(); first != order_.repeats.end();) {
      const auto last = std::find_if(first, order_.repeats.end(), [&](const spec::OrderRepeat& r) {
        return r.rank != first->rank;
      });
      std::vector<std::string> group;
      for (auto repeat = first; repeat != last; ++repeat) {
        if (std::string text = repeat_text(*repeat); !text.empty()) {
          group.push_back(std::move(text));
        }
      }
      if (first->rank >= 0 && !group.empty()) {
        used_.insert("r");
        group = {fill("if (r == $rank$) {\n  $repeats$\n}",
                      {{"rank", std::to_string(first->rank)}, {"repeats", lines(group)}})};
      }
      texts.insert(texts.end(), group.begin(), group.end());
      first = last;
    }
    return texts;
  }

  const Program& program_;
  spec::Order order_;
  std::set<std::string> used_;  // the names that the text written so far uses
  ExpressionText expressions_;
};

// The rows of a file as one table, and a second table with the index of each rank's first row item.
RuleText file_order(const spec::Order& order) {
  std::vector<std::string> tasks;
  std::vector<std::size_t> begins = {0};
  for (const auto& row : order.rows) {
    for (const spec::Task& task : row) {
      tasks.push_back(fmt::format("{{{}, {}}}", task.lane, task.microbatch));
    }
    begins.push_back(tasks.size());
  }
  const std::string body = fill(R"(const int end = kBegin_$order$[rank + 1];
for (int place = kBegin_$order$[rank]; place < end; ++place) order.add(kOrder_$order$[place]);)",
                                {{"order", order.name}});
  return {.functions =
              "\n" +
              table("core::Task", "kOrder_" + order.name,
                    fmt::format(
                        "Order {}, from a file: each rank's tasks (lane, microbatch), in order.",
                        order.name),
                    wrap(tasks, 92)) +
              table("int", "kBegin_" + order.name, "Where those of each rank begin; and the end.",
                    wrap(texts_of(begins), 92)),
          .members = write_order("rank", "/*microbatches*/", body)};
}

}  // namespace

RuleText order_rule(const Program& program) {
  if (dispatched_order(program) < 0) return {};
  spec::Order order = at(program.orders, dispatched_order(program));
  if (order.file) return file_order(order);
  bool fractions = false;
  each_expression(order, [&](Expr& expr) {
    expr = with_chunks(program, expr);
    fractions = fractions || has_fractions(expr);
  });
  return OrderFunction(program, std::move(order), fractions).text();
}

}  // namespace ripeline::codegen
