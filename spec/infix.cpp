#include "spec/infix.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ripeline::spec {
namespace {

// Precedence climbing. The recursion is bounded by the number of strengths and by the prefixes in a
// row, which are counted.
class Joiner {
 public:
  explicit Joiner(std::vector<Piece> row) : row_(std::move(row)) {}

  Result<Tree> run() {
    Tree tree = binary(Strength::disjunction, 0);
    if (error_) return *error_;
    return tree;
  }

 private:
  Tree binary(Strength least, int prefixes) {
    Tree left = operand(least, prefixes);
    while (!error_ && next_ < row_.size()) {
      const Strength own = strength_of_binary(row_[next_].op);
      if (own < least) break;
      const Piece op = std::move(row_[next_++]);
      Tree right = binary(tighter(own), 0);
      if (error_) break;
      left = combine(op, std::move(left), std::move(right));
      if (own == Strength::comparison && next_ < row_.size() &&
          strength_of_binary(row_[next_].op) == Strength::comparison) {
        fail({"parse-chained-comparison", "comparisons do not chain",
              "join two comparisons with `and`", row_[next_].span});
      }
    }
    return left;
  }

  Tree operand(Strength least, int prefixes) {
    Piece piece = std::move(row_[next_++]);
    if (piece.kind == Piece::Kind::operand) return std::move(piece.tree);
    const bool negation = piece.op == "not";
    if (prefixes >= kMaxDepth) return fail(too_deep(piece.span));
    if (negation && least > Strength::negation) {
      return fail({"parse-not-in-operand", "`not` cannot stand here",
                   "put parentheses around `not` and what it negates", piece.span});
    }
    Tree inner = negation ? binary(Strength::negation, prefixes + 1)
                          : operand(Strength::minus, prefixes + 1);
    if (error_) return {};
    Tree tree;
    tree.depth = inner.depth + 1;
    tree.expr.kind = Expr::Kind::unary;
    tree.expr.text = piece.op;
    tree.expr.span = {piece.span.begin, inner.expr.span.end};
    tree.expr.args.push_back(std::move(inner.expr));
    return checked(std::move(tree), piece.span);
  }

  Tree combine(const Piece& op, Tree left, Tree right) {
    Tree tree;
    tree.depth = std::max(left.depth, right.depth) + 1;
    tree.expr = Expr::binary(op.op, std::move(left.expr), std::move(right.expr));
    return checked(std::move(tree), op.span);
  }

  Tree checked(Tree tree, Span span) {
    return tree.depth > kMaxDepth ? fail(too_deep(span)) : std::move(tree);
  }

  Tree fail(Diagnostic error) {
    if (!error_) error_ = std::move(error);
    return {};
  }

  std::vector<Piece> row_;
  std::size_t next_ = 0;
  std::optional<Diagnostic> error_;
};

}  // namespace

Strength strength_of_binary(std::string_view op) {
  if (op == "or") return Strength::disjunction;
  if (op == "and") return Strength::conjunction;
  if (op == "+" || op == "-") return Strength::sum;
  if (op == "*" || op == "/" || op == "div" || op == "%") return Strength::product;
  return Strength::comparison;
}

Diagnostic too_deep(Span span) {
  return {"parse-too-deep",
          "this expression is nested deeper than " + std::to_string(kMaxDepth) + " levels",
          "split it up with a `param` or a `let`", span};
}

Result<Tree> join(std::vector<Piece> row) { return Joiner(std::move(row)).run(); }

}  // namespace ripeline::spec
