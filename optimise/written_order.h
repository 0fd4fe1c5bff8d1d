// Writes the program of an order that was found: the text of the source program, the order, and a
// dispatch that commits to the order. Pure.
#pragma once

#include <string>
#include <vector>

#include "optimise/model.h"
#include "spec/ast.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::optimise {

// Returns `wish`, with a number appended if some order or hint of the program has that name.
[[nodiscard]] std::string name_of_order(const spec::Program& program,
                                        const std::string& wish = "best");

struct NamedOrder {
  std::string name;
  Rows rows;
};
// The counts of microbatches for which the text is written.
struct StepCount {
  int microbatches = 1;  // the count for which the rows were found
  // Whether the text is for other counts, too. Then the part of each row that runs one microbatch
  // per turn is repeated until no microbatches remain for it. Such a program may be unsafe.
  bool every = false;
};
// Writes the text of `source`, from which `program` was compiled. Params get their values in
// `program`, and the old dispatch is dropped. `more` are the items after the orders, with a new
// dispatch. `comments` are lines for the top. The text is in the canonical layout. Fails if the
// source or the items do not parse, or if for `every` count some row has no repeated part.
[[nodiscard]] spec::Result<std::string> with_orders(const spec::Source& source,
                                                    const spec::Program& program,
                                                    const StepCount& count, const Model& model,
                                                    const std::vector<NamedOrder>& orders,
                                                    const std::string& more,
                                                    const std::vector<std::string>& comments);
// Like with_orders(), for one order. name_of_order() names it, and the dispatch commits to it.
[[nodiscard]] spec::Result<std::string> with_order(const spec::Source& source,
                                                   const spec::Program& program,
                                                   const StepCount& count, const Model& model,
                                                   const Rows& rows,
                                                   const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
