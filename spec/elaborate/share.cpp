#include "spec/elaborate/share.h"

#include <numeric>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

// The shortest period of `share` that says the same.
Share shortest(const Share& share) {
  for (int period = 1; period < share.period; ++period) {
    if (share.period % period != 0) continue;
    const std::uint64_t first = share.remainders & ((std::uint64_t{1} << period) - 1);
    std::uint64_t repeated = 0;
    for (int at = 0; at < share.period; at += period) repeated |= first << at;
    if (repeated == share.remainders) return {period, first};
  }
  return share;
}

class ShareReader {
 public:
  ShareReader(Work& work, const Expr& filter, const Values& values)
      : work_(work), filter_(filter), values_(values) {}

  std::optional<Share> read(const std::string& where) {
    if (!find_period(fold(filter_, values_.lookup()))) return std::nullopt;
    Share share{static_cast<int>(period_), 0};
    Values values = values_;
    for (int m = 0; m < share.period; ++m) {
      values.set("m", m);
      const auto value = value_of(work_, filter_, values, where);
      if (!value) return std::nullopt;
      if (value->numerator != 0) share.remainders |= std::uint64_t{1} << m;
    }
    return shortest(share);
  }

 private:
  // False after saying why it has none.
  bool find_period(const Expr& expr) {
    if (expr.kind == Expr::Kind::name && expr.text == "m") {
      work_.error("where-not-repeating", "'m' stands alone, and not as `m % N`",
                  "which microbatches a lane has must repeat: `on m where m % 2 == 0`",
                  place_of(expr));
      return false;
    }
    if (!is_remainder(expr)) {
      for (const Expr& arg : expr.args) {
        if (!find_period(arg)) return false;
      }
      return true;
    }
    const Expr& by = expr.args[1];
    if (by.kind != Expr::Kind::number || !by.value.is_integer() || by.value.numerator < 1) {
      work_.error("where-not-repeating",
                  fmt::format("`{}` is no remainder by a number", print(expr)),
                  "after `m %` stands an integer of 1 or more", place_of(expr));
      return false;
    }
    const bool fits = by.value.numerator <= Share::kLongestPeriod;
    period_ = fits ? std::lcm(period_, by.value.numerator) : by.value.numerator;
    if (period_ <= Share::kLongestPeriod) return true;
    work_.error("where-too-long",
                fmt::format("the microbatches named here repeat only after {} of them", period_),
                fmt::format("the longest period is {}", Share::kLongestPeriod), place_of(expr));
    return false;
  }

  static bool is_remainder(const Expr& expr) {
    return expr.kind == Expr::Kind::binary && expr.text == "%" &&
           expr.args[0].kind == Expr::Kind::name && expr.args[0].text == "m";
  }
  [[nodiscard]] Span place_of(const Expr& expr) const {
    return expr.span.end > 0 ? expr.span : filter_.span;
  }

  Work& work_;
  const Expr& filter_;
  const Values& values_;
  std::int64_t period_ = 1;
};

}  // namespace

std::optional<Share> share_of(Work& work, const ast::Op& op, const Values& values,
                              const std::string& where) {
  if (!op.microbatch_filter) return Share{};
  const Expr& filter = *op.microbatch_filter;
  if (op.once) {
    work.error("where-once",
               fmt::format("op '{}' runs once, and for some microbatches", op.name.text),
               "a `once` op has one task for all microbatches: remove `once` or `on m where`",
               filter.span);
    return std::nullopt;
  }
  const auto share = ShareReader(work, filter, values).read(where);
  if (!share || share->remainders == 0) return std::nullopt;
  const int together = std::lcm(work.share_period, share->period);
  if (together <= Share::kLongestPeriod) {
    work.share_period = together;
    return share;
  }
  work.error("where-too-long",
             fmt::format("the microbatches that lanes have repeat together only after {} of them",
                         together),
             fmt::format("the longest period of them all is {}", Share::kLongestPeriod),
             filter.span);
  return std::nullopt;
}

}  // namespace ripeline::spec::elaboration
