// lint: what in a program is hardly what was meant, though it has a meaning.
//
// A warning changes no verdict and no exit code by itself. Each has an id that stays the same, as
// an error has, a place in the text and what to do. What an error or an obligation says already is
// no warning. A program whose text is right has none: each says something that no program needs to
// say. Pure; never throws.
#pragma once

#include "spec/ast.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::spec {

// `program` was made of `pipeline`. In the order of their places, each once.
[[nodiscard]] Diagnostics lint(const ast::Pipeline& pipeline, const Program& program);

}  // namespace ripeline::spec
