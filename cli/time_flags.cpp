#include "cli/time_flags.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/amount.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "load/input.h"
#include "load/shorten.h"
#include "simulate/amount.h"

namespace ripeline::cli {

namespace {

// `F=1ms,B=2ms` without its units, which become the run's where it has none.
spec::Result<std::string> in_unit(const std::string& rank_costs, std::optional<trace::Unit>& unit) {
  std::vector<std::string> names;
  std::vector<std::string> costs;
  for (std::size_t begin = 0; begin <= rank_costs.size();) {
    const std::size_t end = std::min(rank_costs.find(',', begin), rank_costs.size());
    const std::string one = rank_costs.substr(begin, end - begin);
    const std::size_t equals = std::min(one.find('='), one.size() - 1);
    names.push_back(one.substr(0, equals + 1));
    costs.push_back(one.substr(equals + 1));
    begin = end + 1;
  }
  if (const auto used = simulate::use_unit("--rank-costs", costs, unit); !used.ok()) {
    return used.errors();
  }
  std::string text;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    text += (i == 0 ? "" : ",") + names[i] + costs[i];
  }
  return text;
}

spec::Result<void> read_time(const char* flag, const std::string& text,
                             const std::optional<trace::Unit>& unit, std::optional<double>& time) {
  if (text.empty()) return {};
  const auto read = time_in(flag, text, unit);
  if (!read.ok()) return read.errors();
  time = read.value();
  return {};
}

spec::Result<simulate::Profile> read_profile(const std::string& path) {
  const auto file = load::read_file(path);
  if (!file.ok()) return file.errors();
  simulate::Profile profile;
  const core::Status read = simulate::Profile::parse(file.value().text, profile);
  if (!read.ok()) return failure(path + ": " + read.message());
  return profile;
}

}  // namespace

spec::Result<simulate::TimingOptions> read_timing(const TimeFlags& flags) {
  simulate::TimingOptions timing = flags.timing;
  if (!flags.unit.empty()) {
    timing.unit = simulate::unit_named(flags.unit);
    if (!timing.unit) return failure("--unit is none of ns, us, ms and s");
  }
  if (!flags.profile.empty()) {
    auto profile = read_profile(flags.profile);
    if (!profile.ok()) return profile.errors();
    timing.profile = std::move(profile).value();
  }
  std::optional<trace::Unit> unit = timing.unit;
  if (!unit && timing.profile) unit = timing.profile->unit;
  if (flags.rank_costs) {
    const auto text = in_unit(*flags.rank_costs, unit);
    if (!text.ok()) return text.errors();
    if (unit && !timing.profile) timing.unit = unit;
    simulate::RankCosts costs;
    const core::Status given = simulate::RankCosts::parse(text.value(), costs);
    if (!given.ok()) {
      return failure(
          fmt::format("--rank-costs {}: {}", load::shortened(*flags.rank_costs), given.message()));
    }
    timing.rank_costs = std::move(costs);
  }
  for (const auto& [flag, text, time] : {std::tuple{"--latency", &flags.latency, &timing.latency},
                                         {"--control", &flags.control, &timing.control}}) {
    if (const auto read = read_time(flag, *text, unit, *time); !read.ok()) return read.errors();
  }
  const core::Status jitter = simulate::Jitter::parse(flags.jitter, timing.jitter);
  if (!jitter.ok()) return failure(jitter.message());
  if (timing.bytes_per_second && !timing.message_bytes && flags.profile.empty()) {
    return failure("--bandwidth needs --bytes, the size of a message");
  }
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
  command
      .add_option("--latency", options.latency,
                  "of a message on any link, in the unit or with one, as 0.6ms")
      ->type_name("TIME");
  command
      .add_option("--bandwidth", timing.bytes_per_second,
                  "of any link, in bytes per second, as 25GB/s")
      ->transform(bytes_per_second());
  command.add_option("--bytes", timing.message_bytes, "the size of a message, as 4.7MB")
      ->transform(bytes_from_zero());
  command
      .add_option("--control", options.control,
                  "latency of announcements and grants, in the unit or with one; as the messages' "
                  "without it")
      ->type_name("TIME");
  command.add_option("--jitter", options.jitter,
                     "what varies: J0 … J3, uniform=P, lognormal=CV, pareto=ALPHA, input=SIGMA, "
                     "estimate=SIGMA, "
                     "slow=RANK:FACTOR, tails=PERCENT:UNITS, exponential=MEAN, fifo; with commas");
  command.add_option("--seed", timing.seed, "of what is drawn (1)")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()));
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group("What tasks and messages take");
}

spec::Result<void> check_simulated(const spec::Program& program) {
  if (program.unsupported.empty()) return {};
  return failure(program.unsupported.front().construct + " is not simulated yet");
}

}  // namespace ripeline::cli
