// parse: text to tree.
//
// Accepts all of the language, supported or not; never throws, whatever the bytes. Errors: ids
// parse-*, with what was expected there.
#pragma once

#include "spec/ast.h"

namespace ripeline::spec {

[[nodiscard]] Result<ast::Pipeline> parse(const Source& source);

}  // namespace ripeline::spec
