// Writes an order that was found as a program in the language: the text of the order's program,
// with the order added and with a dispatch that commits to it. Pure.
#pragma once

#include <string>
#include <vector>

#include "optimise/model.h"
#include "spec/ast.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::optimise {

// A name that no order or hint of the program has: `wish`, or `wish` with a number behind it.
[[nodiscard]] std::string name_of_order(const spec::Program& program,
                                        const std::string& wish = "best");

struct NamedOrder {
  std::string name;
  Rows rows;
};
// The counts of microbatches for which the text is written.
struct StepCount {
  int microbatches = 1;  // those of the rows
  // Whether it is also for other counts. Then the part of each row that repeats with one microbatch
  // a turn has as many turns as microbatches remain for it. Such a program need not be proved.
  bool every = false;
};
// `program` was compiled from `source`. The params of the text get the values of `program`, and the
// text's dispatch is dropped. `more` has the items that follow the orders, including a new
// dispatch. `comments` are lines for the top. The text is in the canonical layout. Fails if the
// source or the items do not parse, or if a row has no part for `every` count.
[[nodiscard]] spec::Result<std::string> with_orders(const spec::Source& source,
                                                    const spec::Program& program,
                                                    const StepCount& count, const Model& model,
                                                    const std::vector<NamedOrder>& orders,
                                                    const std::string& more,
                                                    const std::vector<std::string>& comments);
// The same with one order, called name_of_order(), to which the dispatch commits.
[[nodiscard]] spec::Result<std::string> with_order(const spec::Source& source,
                                                   const spec::Program& program,
                                                   const StepCount& count, const Model& model,
                                                   const Rows& rows,
                                                   const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
