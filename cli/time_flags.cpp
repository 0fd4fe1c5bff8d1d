#include "cli/time_flags.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cli/numbers.h"

namespace ripeline::cli {

void add_times(CLI::App& command, load::TimeOptions& options, const std::string& unit_help) {
  const std::size_t before = command.get_options().size();
  command.add_option(
      "--rank-costs", options.rank_costs,
      "what a microbatch takes in all of a rank's layers, as F=1,B=2 or F=1,I=1,W=1, instead of "
      "the program's costs; of K stages on a rank, each takes a K-th");
  command.add_option("--profile", options.profile,
                     "measured costs and links: a JSON file (docs/formats.md)");
  command.add_option("--unit", options.unit, unit_help);
  command
      .add_option("--latency", options.latency,
                  "of a message on any link, in the unit or with one, as 0.6ms")
      ->type_name("TIME");
  command
      .add_option("--bandwidth", options.bandwidth, "of any link, in bytes per second, as 25GB/s")
      ->type_name("BYTES/s");
  command.add_option("--bytes", options.bytes, "the size of a message, as 4.7MB")
      ->type_name("BYTES");
  command
      .add_option("--control", options.control,
                  "latency of announcements and grants, in the unit or with one; as the messages' "
                  "without it")
      ->type_name("TIME");
  command.add_option("--jitter", options.jitter,
                     "what varies: J0 … J3, uniform=P, lognormal=CV, pareto=ALPHA, input=SIGMA, "
                     "estimate=SIGMA, "
                     "slow=RANK:FACTOR, tails=PERCENT:UNITS, exponential=MEAN, fifo; with commas");
  command.add_option("--seed", options.timing.seed, "of what is drawn (1)")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()));
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group("What tasks and messages take");
}

}  // namespace ripeline::cli
