#include "cli/time_flags.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/shorten.h"
#include "spec/dispatch_text.h"

namespace ripeline::cli {

spec::Result<simulate::TimingOptions> read_timing(const TimeFlags& flags) {
  simulate::TimingOptions timing = flags.timing;
  if (!flags.unit.empty()) {
    timing.unit = simulate::unit_named(flags.unit);
    if (!timing.unit) return failure("--unit is none of ns, us, ms and s");
  }
  if (flags.rank_costs) {
    simulate::RankCosts costs;
    const core::Status given = simulate::RankCosts::parse(*flags.rank_costs, costs);
    if (!given.ok()) {
      return failure(
          fmt::format("--rank-costs {}: {}", shortened(*flags.rank_costs), given.message()));
    }
    timing.rank_costs = std::move(costs);
  }
  const core::Status jitter = simulate::Jitter::parse(flags.jitter, timing.jitter);
  if (!jitter.ok()) return failure(jitter.message());
  if (timing.bytes_per_second && !timing.message_bytes && flags.profile.empty()) {
    return failure("--bandwidth needs --bytes, the size of a message");
  }
  if (flags.profile.empty()) return timing;
  const auto file = read_file(flags.profile);
  if (!file.ok()) return file.errors();
  simulate::Profile profile;
  const core::Status read = simulate::Profile::parse(file.value().text, profile);
  if (!read.ok()) return failure(flags.profile + ": " + read.message());
  timing.profile = std::move(profile);
  return timing;
}

void add_times(CLI::App& command, TimeFlags& options, const std::string& unit_help) {
  simulate::TimingOptions& timing = options.timing;
  const std::size_t before = command.get_options().size();
  command.add_option(
      "--rank-costs", options.rank_costs,
      "what a microbatch takes in all of a rank's layers, as F=1,B=2 or F=1,I=1,W=1, instead of "
      "the program's costs; of K stages on a rank, each takes a K-th");
  command.add_option("--profile", options.profile,
                     "measured costs and links: a JSON file (docs/formats.md)");
  command.add_option("--unit", options.unit, unit_help);
  command.add_option("--latency", timing.latency, "of a message on any link, in the unit")
      ->check(number_from_zero());
  command.add_option("--bandwidth", timing.bytes_per_second, "of any link, in bytes per second")
      ->check(number_above_zero());
  command.add_option("--bytes", timing.message_bytes, "the size of a message")
      ->check(number_from_zero());
  command
      .add_option("--control", timing.control,
                  "latency of announcements and grants, in the unit; as the messages' without it")
      ->check(number_from_zero());
  command.add_option("--jitter", options.jitter,
                     "what varies: J0 … J3, uniform=P, lognormal=CV, pareto=ALPHA, input=SIGMA, "
                     "estimate=SIGMA, "
                     "slow=RANK:FACTOR, tails=PERCENT:UNITS, exponential=MEAN, fifo; with commas");
  command.add_option("--seed", timing.seed, "of what is drawn (1)")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()));
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group("What tasks and messages take");
}

trace::Run run_of(const spec::Program& program, const simulate::Timing& timing, int microbatches,
                  trace::Source source) {
  return {.microbatches = microbatches,
          .source = source,
          .seed = timing.draws() ? std::optional(timing.seed()) : std::nullopt,
          .unit = timing.unit(),
          .costs = timing.text(),
          .params = {program.params.begin(), program.params.end()},
          .dispatch = spec::dispatch_text(program)};
}

spec::Result<void> check_simulated(const spec::Program& program) {
  if (program.unsupported.empty()) return {};
  return failure(program.unsupported.front().construct + " is not simulated yet");
}

}  // namespace ripeline::cli
