// The canonical layout. The external interface is print().
//
// The tree becomes lines, each with the position of its text in the source. Then the comments go
// between and behind the lines by their positions. Then the lines become text.
#include "spec/print.h"

#include <algorithm>
#include <utility>

#include "spec/infix.h"

namespace ripeline::spec {
namespace {

using namespace ast;

constexpr std::size_t kWidth = 100;
constexpr int kIndent = 2;

struct Line {
  int indent = 0;
  std::string text;
  std::size_t begin = 0;  // the text's first byte in the source; 0 if not parsed
  bool blank_before = false;
  bool opens = false;  // the line opens a block
  bool closes = false;
  std::string comment = {};       // a comment behind the text
  std::vector<Line> before = {};  // comments on lines of their own
};

// One clause of a block, or one statement.
struct Part {
  std::string text;
  std::size_t begin = 0;
};

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

template <class T, class Print>
std::string list(const std::vector<T>& values, const Print& print_one, const char* separator) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const T& value : values) parts.push_back(print_one(value));
  return joined(parts, separator);
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string optional(const char* before, const std::optional<Expr>& expr) {
  return expr ? before + print(*expr) : "";
}

std::string per(Per value) { return value == Per::stage ? " per stage" : " per rank"; }

std::string range(const Range& value) {
  return print(value.first) + (value.exclusive ? " ..< " : " .. ") + print(value.last);
}

// ---- Items that take one line.

std::string text_of(const Param& x) { return "param " + x.name.text + " = " + print(x.value); }

std::string text_of(const Microbatches& x) {
  if (x.any) return "microbatches any";
  const bool single = !x.range.exclusive && same(x.range.first, x.range.last);
  return "microbatches " + (single ? print(x.range.first) : range(x.range));
}

std::string text_of(const Stages& x) {
  const auto group = [](const StageGroup& g) {
    std::string count = print(g.count);
    if (g.name.text.empty()) return count;
    // `vision -n` would be read as a difference.
    const bool prefix = count.starts_with('-') || count.starts_with("not ");
    return g.name.text + " " + (prefix ? "(" + count + ")" : count);
  };
  return "stages " + list(x.groups, group, ", ");
}

std::string text_of(const Edges& x) {
  const auto edge = [](const GroupEdge& e) { return e.from.text + " -> " + e.to.text; };
  return "edges " + list(x.edges, edge, ", ");
}

std::string text_of(const ast::Place& x) {
  return "place " + x.variable.text + " on " + print(x.rank);
}

std::string text_of(const Dispatch& x) {
  if (x.in_order) return "dispatch in order " + (x.by ? x.by->text : "");
  return "dispatch ready" + (x.by ? " by " + x.by->text : "") +
         (x.keeps ? " keeping " + x.keeps->text : "");
}

std::string text_of(const Assert& x) {
  return "assert peak " + x.resource.text + " <= " + print(x.bound);
}

std::string text_of(const ast::DataParallel& x) { return "data_parallel " + print(x.replicas); }

std::string text_of(const ast::Inputs& x) { return "inputs " + x.order.text; }

// ---- Clauses of ops.

std::string text_of(const NeededOp& x) {
  static constexpr const char* kAt[] = {" at here", " at prev", " at next", " at "};
  std::string text = x.op.text + kAt[static_cast<int>(x.at)];
  if (x.stage) text += "(" + print(*x.stage) + ")";
  if (x.via) text += " via " + x.via->text + optional(" ", x.via_capacity);
  if (x.of_all) return text + " of all";
  return text + optional(" of ", x.of);
}

std::string text_of(const Cost& x) { return "cost " + print(x.value); }
std::string text_of(const Collectives& x) { return "collectives " + print(x.count); }
std::string text_of(const Releases& x) {
  return "releases " + x.resource.text + optional(" ", x.amount);
}
std::string text_of(const Acquires& x) {
  return "acquires " + x.resource.text + optional(" ", x.amount) + optional(" leaving ", x.leaving);
}
std::string text_of(const Needs& x) {
  return "needs " + list(
                        x.items, [](const NeededOp& need) { return text_of(need); }, ", ");
}

std::string header_of(const Op& x) {
  std::string text = "op " + x.name.text;
  for (const Name& word : x.kind) text += " " + word.text;
  if (x.user_name) text += " " + quoted(*x.user_name);
  if (x.sequential) text += " sequential";
  if (x.once) text += " once";
  if (x.engine) text += " on " + x.engine->text;
  return text + optional(" when ", x.when) + optional(" on m where ", x.microbatch_filter);
}

// ---- Clauses of orders and hints.

// An operand of `@`, `*` or `rank`. It gets parentheses unless it is a number, a name or, after
// `*`, a call.
std::string operand(const Expr& expr, bool calls) {
  const std::string text = print(expr);
  const bool literal =
      expr.kind == Expr::Kind::number && text.find_first_not_of("0123456789.") == std::string::npos;
  const bool bare =
      literal || expr.kind == Expr::Kind::name || (calls && expr.kind == Expr::Kind::call);
  return bare ? text : "(" + text + ")";
}

std::string times(const std::optional<Expr>& count) {
  return count ? " * " + operand(*count, true) : "";
}

std::string text_of(const OrderStep& x) {
  return x.op.text + (x.chunk ? "@" + operand(*x.chunk, false) : "");
}

std::string text_of(const Let& x) { return "let " + x.name.text + " = " + print(x.value); }

std::string text_of(const Repeat& x) {
  const std::string steps = list(
      x.steps, [](const OrderStep& step) { return text_of(step); }, " ");
  return (x.grouped ? "(" + steps + ")" : steps) + times(x.count);
}

std::string text_of(const std::vector<StreamLoop>& loops) {
  const auto loop = [](const StreamLoop& l) { return l.variable.text + " in " + range(l.range); };
  return "for " + list(loops, loop, ", ");
}

std::string header_of(const RankBlock& x) { return "rank " + operand(x.rank, false); }

// The text of a part with its `;` or `}`.
std::string text_of(const StreamPart& x) {
  if (x.loops.empty()) return text_of(x.repeats.front()) + ";";
  const auto repeat = [](const Repeat& r) { return text_of(r) + ";"; };
  return text_of(x.loops) + " { " + list(x.repeats, repeat, "  ") + " }";
}

std::string text_of(const Stream& x) {
  const std::string head = "stream " + x.name.text;
  if (!x.braced) {
    const StreamPart& part = x.parts.front();
    return head + " = " + text_of(part.loops) + " : " + text_of(part.repeats.front());
  }
  const auto part = [](const StreamPart& p) { return text_of(p); };
  return head + " { " + list(x.parts, part, "  ") + " }";
}

std::string text_of(const RankBlock& x) {
  const auto repeat = [](const Repeat& r) { return text_of(r) + ";"; };
  return header_of(x) + " {" + (x.repeats.empty() ? "" : " " + list(x.repeats, repeat, "  ")) +
         " }";
}

std::string text_of(const HintPlace& x) { return text_of(x.lane) + optional(" = ", x.priority); }

std::string text_of(const HintClause& x) {
  const auto place = [](const HintPlace& p) { return text_of(p); };
  return x.keyword.text + (x.places.empty() ? "" : " " + list(x.places, place, ", ")) +
         (x.order ? " " + x.order->text : "") + optional(" ", x.value);
}

// ---- Lines.

class Printer {
 public:
  explicit Printer(const Pipeline& pipeline) : pipeline_(pipeline) {}

  std::string run() {
    add({0, "pipeline " + pipeline_.name.text + " {", pipeline_.span.begin, pipeline_.blank_before,
         true});
    for (const Item& item : pipeline_.items) {
      item_ = &item;
      std::visit([this](const auto& x) { print_item(x); }, item.value);
    }
    add({0, "}", closing(pipeline_.span), false, false, true});
    place_comments();
    return text();
  }

 private:
  static std::size_t closing(Span span) { return span.end == 0 ? 0 : span.end - 1; }

  // Keeps `begin` ascending: a clause that the layout moves gets the preceding line's position.
  void add(Line line) {
    if (!lines_.empty()) line.begin = std::max(line.begin, lines_.back().begin);
    lines_.push_back(std::move(line));
  }

  template <class T>
  void print_item(const T& x) {
    add({kIndent, text_of(x) + ";", item_->span.begin, item_->blank_before});
  }

  void print_item(const TensorParallel& x) {
    block("tensor_parallel " + print(x.members),
          {{"agree by " + x.agree.text, x.agree.span.begin}});
  }
  void print_item(const Op& x) { block(header_of(x), parts(x.clauses)); }
  void print_item(const Hint& x) {
    std::vector<Part> clauses;
    clauses.reserve(x.clauses.size());
    for (const HintClause& c : x.clauses) clauses.push_back({text_of(c), c.span.begin});
    block("hint " + x.name.text, clauses);
  }
  void print_item(const Resource& x) {
    std::vector<Part> clauses;
    if (x.capacity) clauses.push_back({"capacity " + print(*x.capacity), x.capacity->span.begin});
    if (x.unit) clauses.push_back({"unit " + quoted(*x.unit), x.unit_span.begin});
    block("resource " + x.name.text + per(x.per), clauses);
  }
  void print_item(const Channel& x) {
    block("channel " + x.name.text + per(x.per), {{"slots " + print(x.slots), x.slots.span.begin}});
  }
  void print_item(const Pair& x) {
    const std::string pair = "pair " + x.first.text + ", " + x.second.text;
    if (x.cost) return block(pair, {{"cost " + print(*x.cost), x.cost->span.begin}});
    add({kIndent, pair + ";", item_->span.begin, item_->blank_before});
  }
  void print_item(const Order& x) {
    if (!x.csv) return print_order(x);
    add({kIndent, "order " + x.name.text + " from csv " + quoted(*x.csv) + ";", item_->span.begin,
         item_->blank_before});
  }

  void print_order(const Order& x) {
    const std::string header = "order " + x.name.text + " on " + x.variable.text;
    if (x.items.empty()) return block(header, {}, true);
    add({kIndent, header + " {", item_->span.begin, item_->blank_before, true});
    for (const OrderItem& item : x.items) {
      const std::string text = std::visit([](const auto& y) { return text_of(y); }, item.value);
      const auto* stream = std::get_if<Stream>(&item.value);
      const auto* block = std::get_if<RankBlock>(&item.value);
      const bool braced = block != nullptr || (stream != nullptr && stream->braced);
      const bool fits = 2 * kIndent + text.size() <= kWidth;
      if (!braced || (fits && (block == nullptr || !has_comment(item.span)))) {
        add({2 * kIndent, text + (braced ? "" : ";"), item.span.begin});
      } else if (stream != nullptr) {
        print_tall(*stream, item.span);
      } else {
        print_filled(*block, item.span);
      }
    }
    add({kIndent, "}", closing(item_->span), false, false, true});
  }

  // Writes one repeat per line.
  void print_tall(const Stream& x, Span span) {
    add({2 * kIndent, "stream " + x.name.text + " {", span.begin, false, true});
    const auto add_repeat = [this](int indent, const Repeat& repeat) {
      add({indent, text_of(repeat) + ";", repeat.steps.front().op.span.begin});
    };
    for (const StreamPart& part : x.parts) {
      if (part.loops.empty()) {
        add_repeat(3 * kIndent, part.repeats.front());
        continue;
      }
      const std::size_t begin = part.loops.front().variable.span.begin;
      add({3 * kIndent, text_of(part.loops) + " {", begin, false, true});
      for (const Repeat& repeat : part.repeats) add_repeat(4 * kIndent, repeat);
      add({3 * kIndent, "}", 0, false, false, true});
    }
    add({2 * kIndent, "}", closing(span), false, false, true});
  }

  // Puts as many repeats on a line as fit, but breaks the line where a comment stands between two.
  void print_filled(const RankBlock& x, Span span) {
    add({2 * kIndent, header_of(x) + " {", span.begin, false, true});
    Line line{3 * kIndent, "", 0};
    std::size_t last = span.begin;  // where the previous repeat begins
    for (const Repeat& repeat : x.repeats) {
      const std::string text = text_of(repeat) + ";";
      const std::size_t begin = repeat.steps.front().op.span.begin;
      const bool fits = 3 * kIndent + line.text.size() + 2 + text.size() <= kWidth;
      if (!line.text.empty() && (!fits || has_comment({last, begin}))) {
        add(std::exchange(line, {3 * kIndent, "", 0}));
      }
      if (line.text.empty()) line.begin = begin;
      line.text += (line.text.empty() ? "" : "  ") + text;
      last = begin;
    }
    if (!line.text.empty()) add(std::move(line));
    add({2 * kIndent, "}", closing(span), false, false, true});
  }

  template <class T>
  static std::vector<Part> parts(const std::vector<T>& values) {
    std::vector<Part> all;
    for (const T& value : values) {
      all.push_back(
          {std::visit([](const auto& x) { return text_of(x); }, value.value), value.span.begin});
    }
    return all;
  }

  // Prints a block on one line if it fits, has no comment and is not `tall`; else line by line.
  void block(const std::string& header, const std::vector<Part>& clauses, bool tall = false) {
    const std::size_t begin = item_->span.begin;
    std::string one_line = header + " {";
    for (const Part& clause : clauses) {
      one_line += (&clause == &clauses.front() ? " " : "  ") + clause.text + ";";
    }
    one_line += " }";
    const bool fits = kIndent + one_line.size() <= kWidth;
    if (!has_comment(item_->span) && (clauses.empty() || (fits && !tall))) {
      return add({kIndent, one_line, begin, item_->blank_before});
    }
    add({kIndent, header + " {", begin, item_->blank_before, true});
    for (const Part& clause : clauses) add({2 * kIndent, clause.text + ";", clause.begin});
    add({kIndent, "}", closing(item_->span), false, false, true});
  }

  bool has_comment(Span span) const {
    const auto& all = pipeline_.comments;
    const auto first = std::partition_point(
        all.begin(), all.end(), [&](const Comment& c) { return c.span.begin < span.begin; });
    return first != all.end() && first->span.begin < span.end;
  }

  // A comment that has a line to itself goes before the first line that begins behind it; any other
  // comment goes behind the last line that begins before it. If that would change the order of the
  // comments, the comment gets a line to itself.
  void place_comments() {
    std::size_t next = 0;  // the first line that begins behind the comment
    for (const Comment& comment : pipeline_.comments) {
      while (next < lines_.size() && lines_[next].begin < comment.span.begin) ++next;
      auto& before = next < lines_.size() ? lines_[next].before : after_;
      const bool free = next > 0 && lines_[next - 1].comment.empty() && before.empty();
      if (!comment.own_line && free) {
        lines_[next - 1].comment = "#" + comment.text;
        continue;
      }
      Line line{0, "#" + comment.text, comment.span.begin,
                comment.own_line && comment.blank_before};
      if (next < lines_.size())
        line.indent = lines_[next].indent + (lines_[next].closes ? kIndent : 0);
      before.push_back(std::move(line));
    }
  }

  std::string text() const {
    std::string out;
    bool fresh = true;  // at the top of a file or a block, where no empty line is written
    const auto write = [&](const Line& line) {
      if (line.blank_before && !fresh) out += '\n';
      out.append(static_cast<std::size_t>(line.indent), ' ');
      out += line.text;
      if (!line.comment.empty()) out += "  " + line.comment;
      out += '\n';
      fresh = line.opens;
    };
    for (const Line& line : lines_) {
      std::for_each(line.before.begin(), line.before.end(), write);
      write(line);
    }
    std::for_each(after_.begin(), after_.end(), write);
    return out;
  }

  const Pipeline& pipeline_;
  const Item* item_ = nullptr;  // the item that is being printed
  std::vector<Line> lines_;
  std::vector<Line> after_;  // comments behind the end
};

}  // namespace

std::string print(const ast::Pipeline& pipeline) { return Printer(pipeline).run(); }

}  // namespace ripeline::spec
