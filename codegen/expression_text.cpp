#include "codegen/expression_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ripeline::codegen {

using spec::Expr;

namespace {

bool is_call(const Expr& expr, const char* name) {
  return expr.kind == Expr::Kind::call && expr.text == name;
}
bool is_binary(const Expr& expr, const char* op) {
  return expr.kind == Expr::Kind::binary && expr.text == op;
}

bool is_condition(const Expr& expr) {
  static const std::set<std::string> kConditions = {"<", "<=", ">", ">=", "==", "!=", "and", "or"};
  return (expr.kind == Expr::Kind::binary && kConditions.contains(expr.text)) ||
         (expr.kind == Expr::Kind::unary && expr.text == "not");
}

}  // namespace

bool has_fractions(const Expr& expr) {
  if (expr.kind == Expr::Kind::number) return !expr.value.is_integer();
  const bool rounds = is_call(expr, "floor") || is_call(expr, "ceil");
  const std::vector<Expr>& parts =
      rounds && is_binary(expr.args[0], "/") ? expr.args[0].args : expr.args;
  if (is_binary(expr, "/")) return true;
  return std::any_of(parts.begin(), parts.end(),
                     [](const Expr& part) { return has_fractions(part); });
}

std::string ExpressionText::whole(const Expr& expr) const {
  return fractions_ && expr.kind != Expr::Kind::number ? number(expr, kAtom) + ".whole()"
                                                       : number(expr);
}

ExpressionText::Text ExpressionText::number_text(const Expr& expr) const {
  if (is_condition(expr)) {
    return {fmt::format("{0} ? {1}{{1}} : {1}{{0}}", condition(expr).in(kOr), type()),
            kConditional};
  }
  const auto& [numerator, denominator] = expr.value;
  switch (expr.kind) {
    case Expr::Kind::number:
      if (denominator == 1) return {std::to_string(numerator), numerator < 0 ? kUnary : kAtom};
      return {fmt::format("core::Fraction({}, {})", numerator, denominator), kAtom};
    case Expr::Kind::name:
      return {name_(expr.text), kAtom};
    case Expr::Kind::unary:
      return {"-" + number(expr.args[0], kAtom), kUnary};
    case Expr::Kind::binary:
      return arithmetic(expr);
    case Expr::Kind::conditional:
      return conditional(expr);
    case Expr::Kind::call:
      return call(expr);
  }
  return {};
}

ExpressionText::Text ExpressionText::conditional(const Expr& expr) const {
  // Both branches of a C++ conditional must have the same type.
  const auto branch = [&](const Expr& value) {
    const std::string text = number(value, kOr);
    return value.kind == Expr::Kind::number ? fmt::format("{}{{{}}}", type(), text) : text;
  };
  return {
      condition(expr.args[0]).in(kOr) + " ? " + branch(expr.args[1]) + " : " + branch(expr.args[2]),
      kConditional};
}

ExpressionText::Text ExpressionText::arithmetic(const Expr& expr) const {
  const Expr& left = expr.args[0];
  const Expr& right = expr.args[1];
  if (expr.text == "div") return function("core::floor_div", expr.args);
  if (expr.text == "%") return function("core::floor_mod", expr.args);
  const Rank rank = expr.text == "+" || expr.text == "-" ? kSum : kProduct;
  const auto tighter = static_cast<Rank>(rank + 1);
  return {number(left, rank) + " " + expr.text + " " + number(right, tighter), rank};
}

ExpressionText::Text ExpressionText::call(const Expr& expr) const {
  if (expr.text == "min" || expr.text == "max") {
    const Text text = function(fmt::format("std::{}<{}>", expr.text, type()), expr.args);
    if (expr.args.size() == 2) return text;
    const std::size_t open = text.text.find('(') + 1;
    const std::string list = text.text.substr(open, text.text.size() - open - 1);
    return {text.text.substr(0, open) + "{" + list + "})", kAtom};
  }
  const Expr& of = expr.args[0];
  if (is_binary(of, "/")) return function("core::" + expr.text + "_div", of.args);
  if (!fractions_) return number_text(of);  // an integer already
  return function("core::" + expr.text, expr.args);
}

ExpressionText::Text ExpressionText::function(const std::string& name,
                                              const std::vector<Expr>& args) const {
  std::vector<std::string> texts;
  for (const Expr& arg : args) texts.push_back(number(arg));
  return {fmt::format("{}({})", name, fmt::join(texts, ", ")), kAtom};
}

ExpressionText::Text ExpressionText::condition(const Expr& expr) const {
  if (!is_condition(expr)) return {number(expr, kSum) + " != 0", kEqual};
  if (expr.kind == Expr::Kind::unary) return {"!" + condition(expr.args[0]).in(kAtom), kUnary};
  if (expr.text == "and" || expr.text == "or") {
    // `and` inside `or` gets parentheses, without which compilers warn.
    const bool is_and = expr.text == "and";
    return {condition(expr.args[0]).in(kEqual) + (is_and ? " && " : " || ") +
                condition(expr.args[1]).in(kEqual),
            is_and ? kAnd : kOr};
  }
  const Rank rank = expr.text == "==" || expr.text == "!=" ? kEqual : kCompare;
  return {number(expr.args[0], kSum) + " " + expr.text + " " + number(expr.args[1], kSum), rank};
}

}  // namespace ripeline::codegen
