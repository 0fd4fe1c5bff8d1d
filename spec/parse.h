// parse: makes a tree from text.
//
// Accepts the whole language, also constructs that no reader supports; never throws, for any bytes.
// Errors: parse-*, which tell what was expected at the position.
#pragma once

#include "spec/ast.h"

namespace ripeline::spec {

[[nodiscard]] Result<ast::Pipeline> parse(const Source& source);

}  // namespace ripeline::spec
