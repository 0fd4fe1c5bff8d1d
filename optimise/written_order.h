// An order that was found, as a program in the language: the one that it is an order of, with the
// order in its text, to which it commits. Pure.
#pragma once

#include <string>
#include <vector>

#include "optimise/model.h"
#include "spec/ast.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::optimise {

// A free name for the order: `best`, or with a number behind it.
[[nodiscard]] std::string name_of_order(const spec::Program& program);

// `program` was compiled of `source`, for `microbatches`; the params of the text get its values,
// and what it says of its dispatch goes. `comments`: lines for the top. The text is in the
// canonical layout. Errors: the source does not parse.
[[nodiscard]] spec::Result<std::string> with_order(const spec::Source& source,
                                                   const spec::Program& program, int microbatches,
                                                   const Model& model, const Rows& rows,
                                                   const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
