#include "optimise/tree_edits.h"

#include <utility>

#include <fmt/format.h>

namespace ripeline::optimise {

using spec::Expr;

Expr plus(Expr expr, std::int64_t k) {
  if (expr.kind == Expr::Kind::number && expr.value.is_integer()) {
    return Expr::number(expr.value.numerator + k);
  }
  if (expr.kind == Expr::Kind::binary && expr.text == "+") {
    expr.args[1] = plus(expr.args[1], k);
    return expr;
  }
  const bool less = expr.kind == Expr::Kind::binary && expr.text == "-" &&
                    expr.args[1].kind == Expr::Kind::number && expr.args[1].value.is_integer();
  if (less && expr.args[1].value.numerator <= k) {
    k -= expr.args[1].value.numerator;
    Expr left = expr.args[0];
    return k == 0 ? left : plus(std::move(left), k);
  }
  if (less) {
    expr.args[1] = Expr::number(expr.args[1].value.numerator - k);
    return expr;
  }
  return Expr::binary("+", std::move(expr), Expr::number(k));
}

std::string text_of(const ast::NeededOp& need) {
  const std::string at = need.at == ast::At::here   ? "here"
                         : need.at == ast::At::prev ? "prev"
                         : need.at == ast::At::next ? "next"
                                                    : "(" + print(*need.stage) + ")";
  std::string text = fmt::format("needs {} at {}", need.op.text, at);
  if (need.via) text += " via " + need.via->text;
  if (need.via && need.via_capacity) text += " " + print(*need.via_capacity);
  return text;
}

std::string text_of(const ast::Acquires& clause) {
  std::string text = "acquires " + clause.resource.text;
  if (clause.amount) text += " " + print(*clause.amount);
  if (clause.leaving) text += " leaving " + print(*clause.leaving);
  return text;
}

std::string header_of(const ast::Op& op) {
  std::string text = "op " + op.name.text;
  for (const ast::Name& word : op.kind) text += " " + word.text;
  if (op.user_name) text += " \"" + *op.user_name + "\"";
  return text;
}

}  // namespace ripeline::optimise
