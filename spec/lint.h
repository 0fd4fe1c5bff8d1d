// lint: finds text of a program that has a meaning which was hardly intended.
//
// A warning changes no verdict and, by itself, no exit code. Like an error it has a stable
// id, a place in the text and a remedy. It never repeats an error or an obligation. A
// correct text gets no warning: each warning is about text that no program needs. Pure;
// never throws.
#pragma once

#include "spec/ast.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::spec {

// `program` was made from `pipeline`. The warnings are sorted by position, each given once.
[[nodiscard]] Diagnostics lint(const ast::Pipeline& pipeline, const Program& program);

}  // namespace ripeline::spec
