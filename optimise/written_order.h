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

// A free name for an order: the wish, or with a number behind it.
[[nodiscard]] std::string name_of_order(const spec::Program& program,
                                        const std::string& wish = "best");

struct NamedOrder {
  std::string name;
  Rows rows;
};
// The counts of microbatches that the text is for.
struct StepCount {
  int microbatches = 1;  // as in the rows
  // Also for more and fewer: the part of each row that repeats with one microbatch a turn has as
  // many turns as there are microbatches for it. Nothing says that such a program is proved.
  bool every = false;
};
// `program` was compiled of `source`; the params of the text get its values,
// and what it says of its dispatch goes. `more`: items behind the orders, as the new dispatch;
// there must be one. `comments`: lines for the top. The text is in the canonical layout. Errors:
// the source or the items do not parse.
[[nodiscard]] spec::Result<std::string> with_orders(const spec::Source& source,
                                                    const spec::Program& program,
                                                    const StepCount& count, const Model& model,
                                                    const std::vector<NamedOrder>& orders,
                                                    const std::string& more,
                                                    const std::vector<std::string>& comments);
// Committed to the one order, under name_of_order().
[[nodiscard]] spec::Result<std::string> with_order(const spec::Source& source,
                                                   const spec::Program& program,
                                                   const StepCount& count, const Model& model,
                                                   const Rows& rows,
                                                   const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
