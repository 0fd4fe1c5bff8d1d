// print: writes a tree as text, in the canonical layout of `ripeline format`.
//
// parse(print(tree)) is the same tree; print(parse(print(tree))) is the same text.
#pragma once

#include <string>

#include "spec/ast.h"

namespace ripeline::spec {

[[nodiscard]] std::string print(const ast::Pipeline& pipeline);

}  // namespace ripeline::spec
