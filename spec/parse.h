// parse: makes a tree from text.
//
// Accepts the whole language, supported or not; never throws, for any bytes. Errors: ids parse-*,
// with what was expected at the position.
#pragma once

#include "spec/ast.h"

namespace ripeline::spec {

[[nodiscard]] Result<ast::Pipeline> parse(const Source& source);

}  // namespace ripeline::spec
