#include "simulate/rank_costs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/vocabulary/per_rank.h"

namespace ripeline::simulate {
namespace {

using core::OpKind;
using core::Status;
using core::StatusCode;
using spec::Rational;

constexpr std::size_t kMostDigits = 9;    // before the point
constexpr std::size_t kMostDecimals = 6;  // after the point
constexpr const char* kExpected =
    "expected F=COST, the forward of all of a rank's layers, and B=COST, the backward, or its two "
    "halves I=COST and W=COST, as in F=1,B=2; a cost is a number such as 2 or 0.5, below 1e9 and "
    "with up to 6 decimals";

bool is_digits(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Rational lowest(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t common = std::gcd(numerator, denominator);
  return {numerator / common, denominator / common};
}

// The sum cannot overflow, since both numbers are in the range of decimal().
Rational sum(const Rational& a, const Rational& b) {
  return lowest(a.numerator * b.denominator + b.numerator * a.denominator,
                a.denominator * b.denominator);
}

// The costs by name; nullopt for those that are not given.
struct Given {
  std::optional<Rational> F, B, I, W;
  std::optional<Rational>* named(std::string_view name) {
    if (name == "F") return &F;
    if (name == "B") return &B;
    if (name == "I") return &I;
    return name == "W" ? &W : nullptr;
  }
};

// Divides `cost` by `tasks` / `microbatches`; nullopt if the result does not fit.
std::optional<Rational> part(const Rational& cost, std::int64_t tasks, int microbatches) {
  const Rational each = lowest(microbatches, tasks);
  const Rational cross = lowest(cost.numerator, each.denominator);
  const Rational other = lowest(each.numerator, cost.denominator);
  Rational result;
  if (__builtin_mul_overflow(cross.numerator, other.numerator, &result.numerator) ||
      __builtin_mul_overflow(cross.denominator, other.denominator, &result.denominator)) {
    return std::nullopt;
  }
  return result;
}

// The cost of an op of this kind, which is divided by the number of the rank's tasks that share it.
struct Divided {
  OpKind kind;
  const Rational& cost;
  std::vector<std::int64_t> tasks;  // per rank
};

}  // namespace

std::optional<Rational> decimal(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest = text.substr(std::min(point + 1, text.size()));
  if (!is_digits(whole, kMostDigits)) return std::nullopt;
  if (point < text.size() && !is_digits(rest, kMostDecimals)) return std::nullopt;
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  for (const char c : whole) numerator = 10 * numerator + (c - '0');
  for (const char c : rest) {
    numerator = 10 * numerator + (c - '0');
    denominator *= 10;
  }
  return lowest(numerator, denominator);
}

Status RankCosts::parse(std::string_view text, RankCosts& costs) {
  const Status wrong{StatusCode::invalid, kExpected};
  Given given;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view one = text.substr(begin, end - begin);
    const std::size_t equals = one.find('=');
    if (equals == one.npos) return wrong;
    std::optional<Rational>* cost = given.named(one.substr(0, equals));
    if (cost == nullptr || *cost) return wrong;
    if (!(*cost = decimal(one.substr(equals + 1)))) return wrong;
    begin = end + 1;
  }
  const bool split = given.I && given.W;
  if (!given.F || given.I.has_value() != given.W.has_value() || !(given.B || split)) return wrong;
  const auto half = [&] { return lowest(given.B->numerator, 2 * given.B->denominator); };
  costs.forward = *given.F;
  costs.backward = given.B ? *given.B : sum(*given.I, *given.W);
  costs.backward_input = split ? *given.I : half();
  costs.backward_weight = split ? *given.W : half();
  costs.text = text;
  return {};
}

Status costs_of_lanes(const spec::Program& program, int microbatches, const RankCosts& costs,
                      std::vector<spec::Cost>& lanes) {
  const auto tasks = [&](std::initializer_list<OpKind> kinds) {
    return core::tasks_per_rank(program.lanes, program.ops, program.ranks, kinds, microbatches);
  };
  // A rank may have stages with a fused backward and other stages with a split one.
  const std::array divided = {
      Divided{OpKind::forward, costs.forward, tasks({OpKind::forward})},
      Divided{OpKind::backward, costs.backward, tasks({OpKind::backward, OpKind::backward_input})},
      Divided{OpKind::backward_input, costs.backward_input,
              tasks({OpKind::backward, OpKind::backward_input})},
      Divided{OpKind::backward_weight, costs.backward_weight,
              tasks({OpKind::backward, OpKind::backward_weight})}};
  lanes.clear();
  for (std::size_t id = 0; id < program.lanes.size(); ++id) {
    const spec::Lane& lane = program.lanes[id];
    lanes.push_back(lane.cost);
    const OpKind kind = at(program.ops, lane.op).kind;
    const auto found = std::find_if(divided.begin(), divided.end(),
                                    [kind](const Divided& d) { return d.kind == kind; });
    const bool ran = found != divided.end() && at(found->tasks, lane.rank) > 0;
    if (lane.once || !ran) continue;
    const auto each = part(found->cost, at(found->tasks, lane.rank), microbatches);
    if (!each) {
      return {StatusCode::invalid,
              fmt::format("what {} takes of the costs {} does not fit in 64 "
                          "bits",
                          program.lane_name(static_cast<int>(id)), costs.text)};
    }
    lanes.back() = {.each = *each};
  }
  return {};
}

}  // namespace ripeline::simulate
