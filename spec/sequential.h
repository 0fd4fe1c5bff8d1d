// A program in which ops of some kinds take their microbatches in turn.
#pragma once

#include <set>
#include <string>

#include "spec/ast.h"
#include "spec/diagnostics.h"

namespace ripeline::spec {

// The text of the program in which every op of one of the kinds, such as `forward` or `backward
// input`, is `sequential`. Error: sequential-kind, if the program has no op of one of the kinds.
// Pure; never throws.
[[nodiscard]] Result<std::string> sequential(const ast::Pipeline& pipeline,
                                             const std::set<std::string>& kinds);

}  // namespace ripeline::spec
