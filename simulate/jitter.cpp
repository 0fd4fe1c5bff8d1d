#include "simulate/jitter.h"

#include <charconv>
#include <cmath>
#include <numbers>

#include "core/draw.h"

namespace ripeline::simulate {
namespace {

using core::Status;
using core::StatusCode;

// A stream for each kind of draw, so that adding one kind does not change the others.
enum class Stream : std::uint64_t {
  sleeps = 1,
  sleep_length,
  uniform,
  lognormal,
  pareto,
  input,
  spread,
  is_late,
  delay,
  estimate,
};

// A uniform draw from [0, 1).
double uniform(Stream stream, const Drawn& drawn, std::uint64_t extra = 0) {
  const std::uint64_t bits = core::draw_bits(
      drawn.seed, {static_cast<std::uint64_t>(stream), drawn.what, drawn.microbatch, extra});
  return static_cast<double>(bits) * 0x1.0p-53;
}

double normal(Stream stream, const Drawn& drawn) {
  const double u = 1 - uniform(stream, drawn, 0);
  const double v = uniform(stream, drawn, 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// A lognormal factor of mean 1; `sigma` is the standard deviation of its logarithm.
double lognormal(Stream stream, const Drawn& drawn, double sigma) {
  return std::exp(sigma * normal(stream, drawn) - sigma * sigma / 2);
}

bool read_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value) &&
         value >= 0 && value <= 1e6;
}

bool read_pair(std::string_view text, double& left, double& right) {
  const std::size_t colon = text.find(':');
  return colon != text.npos && read_number(text.substr(0, colon), left) &&
         read_number(text.substr(colon + 1), right);
}

// Reads a part of SPEC. Returns the form that was expected, or null if the part is well-formed.
const char* read_part(std::string_view key, std::string_view value, Jitter& j) {
  double left = 0;
  if (key.size() == 2 && key[0] == 'J' && value.empty()) {
    if (key[1] < '0' || key[1] > '3') return "J0, J1, J2 or J3";
    const double level = key[1] - '0';
    j.sleep = {level / 10, 5 * level, level / 2};
    return nullptr;
  }
  if (key == "uniform") {
    return read_number(value, j.uniform) && j.uniform <= 1 ? nullptr : "uniform=P, P up to 1";
  }
  if (key == "lognormal") return read_number(value, j.lognormal) ? nullptr : "lognormal=CV";
  if (key == "pareto") {
    return read_number(value, j.pareto) && j.pareto > 1 ? nullptr : "pareto=ALPHA above 1";
  }
  if (key == "input") {
    return read_number(value, j.input) && j.input <= 10 ? nullptr : "input=SIGMA up to 10";
  }
  if (key == "estimate") {
    return read_number(value, j.estimate) && j.estimate <= 10 ? nullptr : "estimate=SIGMA up to 10";
  }
  if (key == "slow") {
    double factor = 0;
    if (!read_pair(value, left, factor) || left != std::floor(left)) return "slow=RANK:FACTOR";
    j.slow[static_cast<int>(left)] = factor;
    return nullptr;
  }
  if (key == "tails") {
    if (!read_pair(value, left, j.tail) || left > 100)
      return "tails=PERCENT:UNITS, as in tails=2:20";
    j.tail_share = left / 100;
    return nullptr;
  }
  if (key == "exponential") return read_number(value, j.exponential) ? nullptr : "exponential=MEAN";
  if (key == "fifo" && value.empty()) {
    j.fifo = true;
    return nullptr;
  }
  return "J0 … J3, uniform=, lognormal=, pareto=, input=, estimate=, slow=, tails=, exponential= "
         "or fifo";
}

}  // namespace

Status Jitter::parse(std::string_view spec, Jitter& jitter) {
  Jitter result;
  for (std::string_view rest = spec; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = equals < part.size() ? part.substr(equals + 1) : "";
    if (const char* wanted = read_part(part.substr(0, equals), value, result)) {
      return {StatusCode::invalid, "jitter '" + std::string(part) + "': expected " + wanted};
    }
  }
  result.text = spec;
  jitter = std::move(result);
  return {};
}

bool Jitter::draws() const {
  return sleep.probability > 0 || uniform > 0 || lognormal > 0 || pareto > 0 || input > 0 ||
         estimate > 0 || tail_share > 0 || exponential > 0;
}

std::uint64_t name_key(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

double task_factor(const Jitter& j, const Drawn& drawn) {
  double factor = 1;
  if (j.uniform > 0) factor *= 1 + j.uniform * (2 * uniform(Stream::uniform, drawn) - 1);
  if (j.lognormal > 0) {
    factor *= lognormal(Stream::lognormal, drawn, std::sqrt(std::log1p(j.lognormal * j.lognormal)));
  }
  if (j.pareto > 0) {
    const double u = 1 - uniform(Stream::pareto, drawn);
    factor *= (j.pareto - 1) / j.pareto * std::pow(u, -1 / j.pareto);
  }
  return factor;
}

double task_sleep(const Jitter& j, const Drawn& drawn, double mean, double base) {
  if (j.sleep.probability == 0 || uniform(Stream::sleeps, drawn) >= j.sleep.probability) return 0;
  return j.sleep.share * std::max(base, mean) * (0.5 + uniform(Stream::sleep_length, drawn));
}

double input_factor(const Jitter& j, std::uint64_t seed, std::uint64_t microbatch) {
  return j.input > 0 ? lognormal(Stream::input, {seed, 0, microbatch}, j.input) : 1;
}

double estimate_factor(const Jitter& j, std::uint64_t seed, std::uint64_t microbatch) {
  return j.estimate > 0 ? lognormal(Stream::estimate, {seed, 0, microbatch}, j.estimate) : 1;
}

double spread_factor(double cv, const Drawn& drawn) {
  return cv > 0 ? lognormal(Stream::spread, drawn, std::sqrt(std::log1p(cv * cv))) : 1;
}

double message_delay(const Jitter& j, const Drawn& drawn) {
  double delay = 0;
  if (j.tail_share > 0 && uniform(Stream::is_late, drawn) < j.tail_share) delay += j.tail;
  if (j.exponential > 0) delay -= j.exponential * std::log(1 - uniform(Stream::delay, drawn));
  return delay;
}

}  // namespace ripeline::simulate
