// Dispatches of a program against each other under the same draws, and what came out of it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/budget.h"
#include "cli/optimised.h"
#include "optimise/certified.h"
#include "optimise/forms.h"
#include "optimise/racing/race.h"
#include "simulate/timing.h"
#include "spec/diagnostics.h"
#include "spec/program.h"

namespace ripeline::cli {

// The program is for this count alone. With progress on standard error.
[[nodiscard]] spec::Result<simulate::RaceResult> race(const spec::Program& program,
                                                      int microbatches,
                                                      const simulate::TimingOptions& times,
                                                      const simulate::RaceOptions& options);
[[nodiscard]] std::string race_text(const spec::Program& program,
                                    const simulate::RaceResult& result);
[[nodiscard]] nlohmann::json race_json(const spec::Program& program,
                                       const simulate::RaceResult& result);

// A race of the order that a search found, one that was improved on drawn times, and hints that
// follow them.
struct OrderRace {
  spec::Program program;  // with both orders
  simulate::RaceResult result;
  std::string text;  // with the dispatch that was picked, which is proved
  std::string dispatch;
};
// The order, which was certified, is improved with what the budget has left beyond the race itself.
// Whether it goes on is asked then too: if not, there is an error. `comments` as of
// optimise::with_orders().
[[nodiscard]] spec::Result<OrderRace> race_orders(const Optimised& optimised,
                                                  const optimise::FormSearch::Best& best,
                                                  const optimise::Certified& certified,
                                                  const simulate::RaceOptions& options,
                                                  const Budget& budget,
                                                  const std::vector<std::string>& comments);

}  // namespace ripeline::cli
