// Random syntax trees of every construct of the language, such as a parser could make. Their
// programs need not be valid; for example, ops and names need not exist.
//
// RapidCheck prints a tree as its source. Names avoid the few words that have a special meaning
// where a name or a value is also allowed.
#pragma once

#include <rapidcheck.h>

#include <ostream>
#include <string>

#include "spec/ast.h"

namespace ripeline::spec::ast {
void showValue(const Pipeline& pipeline, std::ostream& out);
}  // namespace ripeline::spec::ast

namespace ripeline::proptests {

[[nodiscard]] rc::Gen<spec::Expr> any_expr(int depth = 3);
[[nodiscard]] rc::Gen<spec::ast::Item> any_item();
[[nodiscard]] rc::Gen<spec::ast::Pipeline> any_pipeline();
// The text of a comment, without a line end and without a blank at its end.
[[nodiscard]] rc::Gen<std::string> any_comment_text();

}  // namespace ripeline::proptests
