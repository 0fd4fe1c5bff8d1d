// Edits of a syntax tree, and the text that a person would write for them. Private to optimise/.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "spec/ast.h"

namespace ripeline::optimise {

namespace ast = spec::ast;

template <class Node, class Visit>
void each(const ast::Pipeline& tree, const Visit& visit) {
  for (const ast::Item& item : tree.items) {
    if (const auto* node = std::get_if<Node>(&item.value)) visit(*node);
  }
}
template <class Node, class Visit>
void each(ast::Pipeline& tree, const Visit& visit) {
  for (ast::Item& item : tree.items) {
    if (auto* node = std::get_if<Node>(&item.value)) visit(*node);
  }
}
// Visits all clauses of type Clause, each with its op.
template <class Clause, class Tree, class Visit>
void each_clause(Tree& tree, const Visit& visit) {
  each<ast::Op>(tree, [&](auto& op) {
    for (auto& clause : op.clauses) {
      if (auto* found = std::get_if<Clause>(&clause.value)) visit(op, *found);
    }
  });
}
template <class Tree, class Visit>
void each_need(Tree& tree, const Visit& visit) {
  each_clause<ast::Needs>(tree, [&](auto& op, auto& needs) {
    for (auto& need : needs.items) visit(op, need);
  });
}

// `expr` + k. If `expr` is a number or a sum that ends with one, that number is changed instead.
[[nodiscard]] spec::Expr plus(spec::Expr expr, std::int64_t k);
// Writes a need, such as `needs F at prev via slots 2`.
[[nodiscard]] std::string text_of(const ast::NeededOp& need);
// Writes a clause, such as `acquires activation 2 leaving 1`.
[[nodiscard]] std::string text_of(const ast::Acquires& clause);
// Writes an op's first line, such as `op F forward`.
[[nodiscard]] std::string header_of(const ast::Op& op);

}  // namespace ripeline::optimise
