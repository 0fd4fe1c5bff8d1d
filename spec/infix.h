// The binding strength of operators, and the tree for a row of operands and operators.
//
// The parser reads an expression as a flat row and joins it here, so that the parser's stack grows
// only with nested parentheses. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/expr.h"

namespace ripeline::spec {

// The strengths, from the loosest to the tightest.
enum class Strength : std::uint8_t {
  conditional,
  disjunction,
  conjunction,
  negation,
  comparison,
  sum,
  product,
  minus,
  atom,
};

[[nodiscard]] Strength strength_of_binary(std::string_view op);
[[nodiscard]] inline Strength tighter(Strength s) {
  return static_cast<Strength>(static_cast<int>(s) + 1);
}

// The deepest tree that is accepted, so that code which walks a tree may recurse.
inline constexpr int kMaxDepth = 200;
[[nodiscard]] Diagnostic too_deep(Span span);

struct Tree {
  Expr expr;
  int depth = 1;
};

struct Piece {
  enum class Kind : std::uint8_t {
    operand,  // tree
    prefix,   // op is - or not
    infix,    // op is a binary operator
  };
  Kind kind = Kind::operand;
  Tree tree;
  std::string op;
  Span span;
};

// `row` has prefixes and an operand, then repeatedly a binary operator, prefixes and an operand.
// Operators of equal strength group to the left. Errors: parse-too-deep, parse-chained-comparison
// (a < b < c), parse-not-in-operand (1 + not a).
[[nodiscard]] Result<Tree> join(std::vector<Piece> row);

}  // namespace ripeline::spec
