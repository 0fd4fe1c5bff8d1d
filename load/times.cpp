#include "load/times.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "load/input.h"
#include "load/numbers.h"
#include "load/shorten.h"
#include "simulate/amount.h"

namespace ripeline::load {
namespace {

using spec::failure;

// Removes the units from a text such as `F=1ms,B=2ms`. If `unit` is not set, sets it to that unit.
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

// The time that `text` gives, in the unit of the costs.
spec::Result<double> time_in(const char* option, const std::string& text,
                             const std::optional<trace::Unit>& unit) {
  if (const auto number = simulate::number_in(text)) return *number;
  const auto amount = simulate::amount_in(text);
  if (!amount || amount->dimension != simulate::Dimension::time) {
    return failure(
        fmt::format("{}: expected a number of 0 or more, and found '{}'; a time with a unit is one "
                    "as 0.6ms",
                    option, shortened(text)));
  }
  if (!unit) {
    return failure(
        fmt::format("{} {}: the costs have no unit; --unit {} says that a cost of 1 takes 1 {}",
                    option, text, amount->unit, amount->unit));
  }
  return amount->base.value() / static_cast<double>(unit->nanoseconds);
}

spec::Result<simulate::Profile> read_profile(const std::string& path) {
  const auto file = read_file(path);
  if (!file.ok()) return file.errors();
  simulate::Profile profile;
  const core::Status read = simulate::Profile::parse(file.value().text, profile);
  if (!read.ok()) return failure(path + ": " + read.message());
  return profile;
}

}  // namespace

spec::Result<simulate::TimingOptions> read_timing(const TimeOptions& options) {
  simulate::TimingOptions timing = options.timing;
  if (!options.unit.empty()) {
    timing.unit = simulate::unit_named(options.unit);
    if (!timing.unit) return failure("--unit is none of ns, us, ms and s");
  }
  if (!options.profile.empty()) {
    auto profile = read_profile(options.profile);
    if (!profile.ok()) return profile.errors();
    timing.profile = std::move(profile).value();
  }
  std::optional<trace::Unit> unit = timing.unit;
  if (!unit && timing.profile) unit = timing.profile->unit;
  if (options.rank_costs) {
    const auto text = in_unit(*options.rank_costs, unit);
    if (!text.ok()) return text.errors();
    if (unit && !timing.profile) timing.unit = unit;
    simulate::RankCosts costs;
    const core::Status given = simulate::RankCosts::parse(text.value(), costs);
    if (!given.ok()) {
      return failure(
          fmt::format("--rank-costs {}: {}", shortened(*options.rank_costs), given.message()));
    }
    timing.rank_costs = std::move(costs);
  }
  for (const auto& [option, text, time] :
       {std::tuple{"--latency", &options.latency, &timing.latency},
        std::tuple{"--control", &options.control, &timing.control}}) {
    if (text->empty()) continue;
    const auto read = time_in(option, *text, unit);
    if (!read.ok()) return read.errors();
    *time = read.value();
  }
  if (!options.bandwidth.empty()) {
    const auto read = bytes_per_second(options.bandwidth);
    if (!read.ok()) return failure("--bandwidth: " + read.errors().front().message);
    timing.bytes_per_second = read.value();
  }
  if (!options.bytes.empty()) {
    const auto read = bytes_from_zero(options.bytes);
    if (!read.ok()) return failure("--bytes: " + read.errors().front().message);
    timing.message_bytes = read.value();
  }
  const core::Status jitter = simulate::Jitter::parse(options.jitter, timing.jitter);
  if (!jitter.ok()) return failure(jitter.message());
  if (timing.bytes_per_second && !timing.message_bytes && options.profile.empty()) {
    return failure("--bandwidth needs --bytes, the size of a message");
  }
  return timing;
}

spec::Result<void> check_simulated(const spec::Program& program) {
  if (program.unsupported.empty()) return {};
  return failure(program.unsupported.front().construct + " is not simulated yet");
}

spec::Result<simulate::Timing> timing_of(const spec::Program& program, int microbatches,
                                         const TimeOptions& options) {
  if (auto simulated = check_simulated(program); !simulated.ok()) return simulated.errors();
  const auto read = read_timing(options);
  if (!read.ok()) return read.errors();
  simulate::Timing timing;
  const core::Status made = simulate::Timing::make(program, microbatches, read.value(), timing);
  if (!made.ok()) return failure(made.message());
  return timing;
}

}  // namespace ripeline::load
