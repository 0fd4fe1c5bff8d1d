// Random trees of every construct of the language, as a parser could have made them. They mean
// nothing: ops and names need not exist.
//
// A tree prints as source. Names avoid the few words that have a meaning at places where a name or
// value may stand too.
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
// A comment's text: no line end, no blank at its end.
[[nodiscard]] rc::Gen<std::string> any_comment_text();

}  // namespace ripeline::proptests
