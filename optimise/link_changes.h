// Which changes of links may repair a program. Private to optimise/.
#pragma once

#include <vector>

#include "optimise/changes.h"
#include "spec/ast.h"
#include "spec/diagnostics.h"

namespace ripeline::optimise {

// Changes of the links of these needs, each given by its span: more slots, messages in order, a
// slot for each message, or senders that do not block. The tree must outlive the changes.
[[nodiscard]] std::vector<CandidateChange> link_changes(const spec::ast::Pipeline& tree,
                                                        const std::vector<spec::Span>& needs);

}  // namespace ripeline::optimise
