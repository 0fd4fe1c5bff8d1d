#include "proptests/ast_generator.h"

#include <optional>
#include <utility>
#include <vector>

#include "spec/print.h"

namespace ripeline::spec::ast {
void showValue(const Pipeline& pipeline, std::ostream& out) { out << "\n" << print(pipeline); }
}  // namespace ripeline::spec::ast

namespace ripeline::proptests {
namespace {

using namespace spec::ast;
using spec::Expr;
using spec::Rational;
namespace gen = rc::gen;

bool maybe() { return *gen::arbitrary<bool>(); }
// A number from 0 to n - 1. The range does not depend on RapidCheck's size (see seeds.h).
int below(int n) { return *gen::resize(rc::kNominalSize, gen::inRange(0, n)); }

Name name() {
  static const std::vector<std::string> words = {
      "F",     "B",     "W",  "bf",    "x_1",   "_y",       "m",    "s",  "ranks",
      "input", "order", "on", "stage", "needs", "pipeline", "user", "by", "via"};
  return {*gen::elementOf(words), {}};
}

std::string text() {
  return *gen::elementOf(std::vector<std::string>{"", "zb.csv", "a # b", "{ ; }", "\xC3\xA4"});
}

Expr expr(int depth);

Expr number() {
  struct Literal {
    const char* text;
    Rational value;
  };
  static const std::vector<Literal> literals = {{"0", {0, 1}},
                                                {"1", {1, 1}},
                                                {"42", {42, 1}},
                                                {"007", {7, 1}},
                                                {"0.5", {1, 2}},
                                                {"1.50", {3, 2}},
                                                {"9223372036854775807", {9223372036854775807, 1}}};
  const Literal& literal =
      literals[static_cast<std::size_t>(below(static_cast<int>(literals.size())))];
  Expr e;
  e.text = literal.text;
  e.value = literal.value;
  return e;
}

Expr compound(Expr::Kind kind, std::string its_text, int args, int depth) {
  Expr e;
  e.kind = kind;
  e.text = std::move(its_text);
  for (int i = 0; i < args; ++i) e.args.push_back(expr(depth - 1));
  return e;
}

Expr expr(int depth) {
  static const std::vector<std::string> operators = {"+", "-",  "*",  "/",  "div", "%",   "<",
                                                     ">", "<=", ">=", "==", "!=",  "and", "or"};
  const int choice = below(depth > 0 ? 7 : 2);
  switch (choice) {
    case 0:
      return number();
    case 1:
      return Expr::name(name().text);
    case 2:
      return compound(Expr::Kind::unary, maybe() ? "-" : "not", 1, depth);
    case 3:
      return compound(Expr::Kind::conditional, "?", 3, depth);
    case 4:
      return compound(Expr::Kind::call, maybe() ? "min" : "max", 1 + below(3), depth);
    case 5:
      return compound(Expr::Kind::call, maybe() ? "ceil" : "floor", 1, depth);
    default:
      return compound(Expr::Kind::binary, *gen::elementOf(operators), 2, depth);
  }
}
Expr value() { return expr(3); }
std::optional<Expr> maybe_value() { return maybe() ? std::optional(value()) : std::nullopt; }

Range range() { return {value(), value(), maybe()}; }
Per per() { return maybe() ? Per::stage : Per::rank; }

Microbatches microbatches() {
  if (maybe()) return {true, {}};
  if (maybe()) return {false, range()};
  const Expr count = value();
  return {false, {count, count, false}};
}

Stages stages() {
  if (maybe()) return {{{{}, value()}}};
  Stages all;
  for (int n = 1 + below(3); n > 0; --n) all.groups.push_back({name(), value()});
  return all;
}

Edges edges() {
  Edges all;
  for (int n = 1 + below(3); n > 0; --n) all.edges.push_back({name(), name()});
  return all;
}

TensorParallel tensor_parallel() {
  static const std::vector<std::string> ways = {"intersection", "vote", "leader", "none"};
  return {value(), {*gen::elementOf(ways), {}}};
}

NeededOp needed_op() {
  NeededOp need;
  need.op = name();
  need.at = *gen::element(At::here, At::prev, At::next, At::stage);
  if (need.at == At::stage) need.stage = value();
  switch (below(5)) {
    case 0:
      need.via = Name{"slots", {}};
      need.via_capacity = maybe_value();
      break;
    case 1:
      need.via = Name{"fifo", {}};
      need.via_capacity = value();
      break;
    case 2:
      need.via = Name{maybe() ? "rendezvous" : "inbox", {}};
      break;
    default:
      break;
  }
  need.of_all = below(4) == 0;
  if (!need.of_all) need.of = maybe_value();
  return need;
}

OpClause op_clause() {
  switch (below(5)) {
    case 0:
      return {Cost{value()}, {}};
    case 1:
      return {Acquires{name(), maybe_value(), maybe_value()}, {}};
    case 2:
      return {Releases{name(), maybe_value()}, {}};
    case 3:
      return {Collectives{value()}, {}};
    default:
      break;
  }
  Needs needs;
  for (int n = 1 + below(3); n > 0; --n) needs.items.push_back(needed_op());
  return {needs, {}};
}

Op op() {
  static const std::vector<std::vector<Name>> kinds = {{},
                                                       {{"forward", {}}},
                                                       {{"backward", {}}},
                                                       {{"backward", {}}, {"input", {}}},
                                                       {{"backward", {}}, {"weight", {}}},
                                                       {{"reduce", {}}},
                                                       {{"offload", {}}},
                                                       {{"reload", {}}},
                                                       {{"recompute", {}}},
                                                       {{"user", {}}}};
  Op op;
  op.name = name();
  op.kind = *gen::elementOf(kinds);
  if (!op.kind.empty() && op.kind.front().text == "user") op.user_name = text();
  op.sequential = maybe();
  op.once = maybe();
  if (maybe()) op.engine = name();
  op.when = maybe_value();
  op.microbatch_filter = maybe_value();
  for (int n = below(5); n > 0; --n) op.clauses.push_back(op_clause());
  return op;
}

Resource resource() {
  Resource r{name(), per(), maybe_value(), {}, {}};
  if (maybe()) r.unit = text();
  return r;
}

OrderStep order_step() { return {name(), maybe_value()}; }

Repeat repeat() {
  Repeat repeat;
  repeat.grouped = maybe();
  for (int n = repeat.grouped ? 1 + below(3) : 1; n > 0; --n) repeat.steps.push_back(order_step());
  repeat.count = maybe_value();
  return repeat;
}

StreamPart stream_part(bool loops) {
  StreamPart part;
  for (int n = loops ? 1 + below(2) : 0; n > 0; --n) part.loops.push_back({name(), range()});
  for (int n = loops ? 1 + below(2) : 1; n > 0; --n) part.repeats.push_back(repeat());
  return part;
}

Stream stream() {
  Stream stream{name(), {}, maybe()};
  for (int n = stream.braced ? 1 + below(3) : 1; n > 0; --n) {
    stream.parts.push_back(stream_part(!stream.braced || maybe()));
    if (!stream.braced) stream.parts.back().repeats.resize(1);
  }
  return stream;
}

OrderItem order_item() {
  switch (below(4)) {
    case 0:
      return {Let{name(), value()}, {}};
    case 1:
      return {stream(), {}};
    case 2: {
      RankBlock block{value(), {}};
      for (int n = below(4); n > 0; --n) block.repeats.push_back(repeat());
      return {std::move(block), {}};
    }
    default:
      return {repeat(), {}};
  }
}

Order order() {
  Order order;
  order.name = name();
  if (below(4) == 0) {
    order.csv = text();
    return order;
  }
  order.variable = name();
  for (int n = below(5); n > 0; --n) order.items.push_back(order_item());
  return order;
}

std::vector<HintPlace> places(HintPlace (*place)()) {
  std::vector<HintPlace> all;
  for (int n = 1 + below(3); n > 0; --n) all.push_back(place());
  return all;
}

HintClause hint_clause() {
  static const std::vector<std::string> lists = {"prefer", "rounds", "fill"};
  switch (below(5)) {
    case 0:
      return {{"follow", {}}, {}, name(), {}, {}};
    case 1:
      return {{maybe() ? "notices" : "forecasts", {}}, {}, {}, {}, {}};
    case 2:
      return {{maybe() ? "patience" : "yield", {}}, {}, {}, value(), {}};
    case 3:
      return {{"priority", {}},
              places([] {
                return HintPlace{{name(), {}}, value()};
              }),
              {},
              {},
              {}};
    default:
      return {{*gen::elementOf(lists), {}},
              places([] {
                return HintPlace{order_step(), {}};
              }),
              {},
              {},
              {}};
  }
}

Hint hint() {
  Hint hint{name(), {}};
  for (int n = below(5); n > 0; --n) hint.clauses.push_back(hint_clause());
  return hint;
}

Dispatch dispatch() {
  if (maybe()) return {true, name(), {}};
  const auto by = maybe() ? std::optional(name()) : std::nullopt;
  return {false, by, maybe() ? std::optional(name()) : std::nullopt};
}

Item item() {
  Item item;
  item.blank_before = maybe();
  switch (below(16)) {
    case 0:
      item.value = Param{name(), value()};
      break;
    case 1:
      item.value = microbatches();
      break;
    case 2:
      item.value = stages();
      break;
    case 3:
      item.value = edges();
      break;
    case 4:
      item.value = spec::ast::Place{name(), value()};
      break;
    case 5:
      item.value = tensor_parallel();
      break;
    case 6:
      item.value = resource();
      break;
    case 7:
      item.value = Channel{name(), per(), value()};
      break;
    case 8:
      item.value = order();
      break;
    case 9:
      item.value = hint();
      break;
    case 10:
      item.value = dispatch();
      break;
    case 11:
      item.value = Assert{name(), value()};
      break;
    case 12:
      item.value = Pair{name(), name(), maybe() ? std::optional(value()) : std::nullopt};
      break;
    case 13:
      item.value = DataParallel{value()};
      break;
    case 14:
      item.value = Inputs{{maybe() ? "natural" : "pyramid", {}}};
      break;
    default:
      item.value = op();
      break;
  }
  return item;
}

std::string comment_text() {
  static const std::vector<std::string> texts = {"",          " a comment", "#",
                                                 " op F { }", " \"open",    " \xC3\xA4"};
  return *gen::elementOf(texts);
}

}  // namespace

rc::Gen<Expr> any_expr(int depth) {
  return gen::exec([depth] { return expr(depth); });
}
rc::Gen<Item> any_item() { return gen::exec(item); }
rc::Gen<std::string> any_comment_text() { return gen::exec(comment_text); }

rc::Gen<Pipeline> any_pipeline() {
  return gen::exec([] {
    Pipeline pipeline;
    pipeline.name = name();
    for (int n = below(8); n > 0; --n) pipeline.items.push_back(item());
    for (int n = below(3); n > 0; --n) {
      pipeline.comments.push_back({comment_text(), maybe(), maybe(), {}});
    }
    return pipeline;
  });
}

}  // namespace ripeline::proptests
