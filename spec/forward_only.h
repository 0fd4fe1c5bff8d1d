// The forward pass of a program, as a program of its own: for evaluation and inference.
//
// It has the ops of kind `forward`, with what these need of each other, on the same stages, ranks
// and links. Other ops are left out, and so is a resource that one of them takes or gives back: in
// evaluation nothing keeps an activation for a backward. There is no order. A rank runs any forward
// that is ready, of its later stages first, so that few results wait for their next stage. The
// params stay.
//
// Pure; never throws.
#pragma once

#include <string>

#include "spec/ast.h"
#include "spec/diagnostics.h"

namespace ripeline::spec {

// The program's text. Errors: forward-only, if no op is `forward`, if a forward needs another op,
// or if it needs something `via rendezvous`, for which an order is necessary.
[[nodiscard]] Result<std::string> forward_only(const ast::Pipeline& pipeline);

}  // namespace ripeline::spec
