#include "spec/elaborate/share.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

constexpr const char* kLongestHint =
    "the longest period is 64, unless the program is for one number of microbatches";

// The shortest period with which these bits repeat.
std::size_t shortest(const std::vector<bool>& has) {
  for (std::size_t period = 1; period < has.size(); ++period) {
    if (has.size() % period != 0) continue;
    if (std::equal(has.begin() + static_cast<std::ptrdiff_t>(period), has.end(), has.begin())) {
      return period;
    }
  }
  return has.size();
}

// The share that has these microbatches of a period. Equal vectors of words are stored once.
Share made_of(Work& work, std::vector<bool> has) {
  has.resize(shortest(has));
  const int period = static_cast<int>(has.size());
  const auto has_it = [&has](int m) { return has[static_cast<std::size_t>(m)]; };
  std::vector<core::ShareWord> words = core::long_words(period, has_it);
  if (period <= Share::kLongestPeriod) return {period, words.front().bits};
  auto& all = work.program.share_words;
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& other) { return *other == words; });
  if (known != all.end()) return Share::of_words(period, (*known)->data());
  all.push_back(std::make_shared<const std::vector<core::ShareWord>>(std::move(words)));
  return Share::of_words(period, all.back()->data());
}

// The one count of microbatches, if every set of them can be a share; else nullopt.
std::optional<int> listed_count(const Work& work) {
  const int count = work.program.microbatches.min;
  if (!work.one_count() || count > Share::kMostPeriod) return std::nullopt;
  return count;
}

class ShareReader {
 public:
  ShareReader(Work& work, const Expr& filter, const Values& values)
      : work_(work), filter_(filter), values_(values), count_(listed_count(work)) {}

  std::optional<Share> read(const std::string& where) {
    if (!find_period(fold(filter_, values_.lookup()))) return std::nullopt;
    const int period = is_listed_ ? *count_ : static_cast<int>(period_);
    std::vector<bool> has;
    Values values = values_;
    for (int m = 0; m < period; ++m) {
      values.set("m", m);
      const auto value = value_of(work_, filter_, values, where);
      if (!value) return std::nullopt;
      has.push_back(value->numerator != 0);
    }
    return made_of(work_, std::move(has));
  }

 private:
  // Returns false after reporting why the condition has no period.
  bool find_period(const Expr& expr) {
    if (expr.kind == Expr::Kind::name && expr.text == "m") {
      work_.error("where-not-repeating", "'m' stands alone, and not as `m % N`",
                  "which microbatches a lane has must repeat: `on m where m % 2 == 0`",
                  span_of(expr));
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
                  "after `m %` stands an integer of 1 or more", span_of(expr));
      return false;
    }
    const bool fits = by.value.numerator <= Share::kLongestPeriod;
    const std::int64_t period = fits ? std::lcm(period_, by.value.numerator) : by.value.numerator;
    if (period <= Share::kLongestPeriod) {
      period_ = period;
      return true;
    }
    is_listed_ = count_.has_value();
    if (is_listed_) return true;
    work_.error("where-too-long",
                fmt::format("the microbatches named here repeat only after {} of them", period),
                kLongestHint, span_of(expr));
    return false;
  }

  static bool is_remainder(const Expr& expr) {
    return expr.kind == Expr::Kind::binary && expr.text == "%" &&
           expr.args[0].kind == Expr::Kind::name && expr.args[0].text == "m";
  }
  [[nodiscard]] Span span_of(const Expr& expr) const {
    return expr.span.end > 0 ? expr.span : filter_.span;
  }

  Work& work_;
  const Expr& filter_;
  const Values& values_;
  std::optional<int> count_;
  std::int64_t period_ = 1;
  bool is_listed_ = false;  // the share lists the one count's microbatches one by one
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
  if (!share || share->size() == 0) return std::nullopt;
  const std::int64_t together = std::lcm<std::int64_t>(work.share_period, share->period);
  if (together <= Share::kLongestPeriod) {
    work.share_period = static_cast<int>(together);
    return share;
  }
  if (const auto count = listed_count(work)) {
    work.share_period = *count;
    work.lists_shares = true;
    return share;
  }
  work.error("where-too-long",
             fmt::format("the microbatches that lanes have repeat together only after {} of them",
                         together),
             kLongestHint, filter.span);
  return std::nullopt;
}

void list_shares(Work& work) {
  if (!work.lists_shares) return;
  for (Lane& lane : work.program.lanes) {
    if (lane.share.is_all()) continue;
    std::vector<bool> has;
    for (int m = 0; m < work.share_period; ++m) has.push_back(lane.share.has(m));
    lane.share = made_of(work, std::move(has));
  }
}

}  // namespace ripeline::spec::elaboration
