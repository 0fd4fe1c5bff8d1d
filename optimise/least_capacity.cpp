// Finds the least amount that suffices if all instances have it, by growing steps and then halving.
// Then lowers one capacity at a time. Last, tries all choices with a smaller sum if they are few.
#include "optimise/least_capacity.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "spec/indexing.h"
#include "verify/verdict.h"
#include "verify/verify.h"

namespace ripeline::optimise {

using spec::Program;

namespace {

using Choice = std::vector<std::int64_t>;
using Smaller = LeastCapacity::Smaller;

constexpr const char* kLinks = "links";
constexpr std::uint64_t kSearchStates = 20'000;  // few, since many choices are judged
constexpr std::int64_t kUniformTried = 16;   // uniform capacities to try below the least proved one
constexpr std::int64_t kChoicesTried = 200;  // choices with a smaller sum to try
constexpr int kPasses = 4;

bool is_resource(const Program& program, const std::string& name) {
  return std::any_of(program.resources.begin(), program.resources.end(),
                     [&](const spec::Resource& r) { return r.name == name; });
}

// The pools or inboxes that a name stands for, and the least amount that each must have.
class Bounds {
 public:
  Bounds(const Program& program, const std::string& name)
      : program_(program), pools_(is_resource(program, name)) {
    if (pools_) {
      for (int p = 0; p < size_of(program.pools); ++p) {
        const spec::Resource& r = at(program.resources, at(program.pools, p).resource);
        if (r.name == name) index_.push_back(p);
      }
      read_amounts();
    } else {
      const auto channel = [&](const std::string& c) {
        return std::any_of(program.inboxes.begin(), program.inboxes.end(),
                           [&](const spec::Inbox& inbox) { return inbox.channel == c; });
      };
      const std::string wanted = name == kLinks && !channel(name) ? std::string() : name;
      for (int i = 0; i < size_of(program.inboxes); ++i) {
        if (at(program.inboxes, i).channel == wanted) index_.push_back(i);
      }
      least_.assign(index_.size(), 1);
    }
  }

  [[nodiscard]] bool of_pools() const { return pools_; }
  [[nodiscard]] const Choice& least() const { return least_; }
  [[nodiscard]] std::int64_t unit() const { return unit_; }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const int i : index_) {
      names.push_back(pools_ ? program_.pool_name(i) : program_.inbox_name(i));
    }
    return names;
  }

  [[nodiscard]] Program with(const Choice& choice) const {
    Program changed = program_;
    for (std::size_t i = 0; i < index_.size(); ++i) {
      if (pools_) at(changed.pools, index_[i]).capacity = choice[i];
      if (!pools_) at(changed.inboxes, index_[i]).slots = choice[i];
    }
    changed.hash = spec::hash_of(changed);
    return changed;
  }

  [[nodiscard]] Program without() const {
    Program changed = program_;
    for (const int i : index_) at(changed.pools, i).capacity.reset();
    changed.hash = spec::hash_of(changed);
    return changed;
  }

  // A capacity with which no task ever waits; nullopt if none is enough for all microbatch counts.
  [[nodiscard]] std::optional<std::int64_t> enough() const {
    if (!program_.microbatches.max) return std::nullopt;
    std::int64_t amount = size_of(program_.edges);
    if (pools_) amount = 0;
    for (const spec::Lane& lane : program_.lanes) {
      for (const spec::Acquire& a : lane.acquires) {
        if (pools_) amount += a.amount + a.leaving;
      }
    }
    std::int64_t product = 0;
    if (__builtin_mul_overflow(amount, std::int64_t{*program_.microbatches.max}, &product)) {
      return std::nullopt;
    }
    return product;
  }

 private:
  void read_amounts() {
    unit_ = 0;
    for (const int pool : index_) {
      std::int64_t least = 0;
      for (const spec::Lane& lane : program_.lanes) {
        for (const spec::Acquire& a : lane.acquires) {
          if (a.pool != pool) continue;
          least = std::max(least, a.amount + a.leaving);
          unit_ = std::gcd(unit_, std::gcd(a.amount, a.leaving));
        }
      }
      least_.push_back(std::max<std::int64_t>(least, 1));
    }
    unit_ = std::max<std::int64_t>(unit_, 1);
  }

  const Program& program_;
  bool pools_;
  std::vector<int> index_;
  Choice least_;
  std::int64_t unit_ = 1;  // divides all amounts
};

class LeastSearch {
 public:
  LeastSearch(const Program& program, const std::string& name, const verify::VerifyOptions& options)
      : program_(program), name_(name), options_(options), bounds_(program, name) {
    options_.search_states = std::min(options_.search_states, kSearchStates);
  }

  LeastCapacity run() {
    found_.instances = bounds_.names();
    if (bounds_.least().empty()) {
      found_.reason = fmt::format("Nothing uses {}.", name_);
      return std::move(found_);
    }
    if (!find_peaks() && !find_uniform()) return std::move(found_);
    settle_uniform();
    lower_each();
    settle_sum();
    found_.outcome = verify::Outcome::proved;
    found_.sum = sum_of(found_.each);
    return std::move(found_);
  }

 private:
  static std::int64_t sum_of(const Choice& choice) {
    return std::accumulate(choice.begin(), choice.end(), std::int64_t{0});
  }

  verify::Outcome judged(const Choice& choice) {
    const auto known = known_.find(choice);
    if (known != known_.end()) return known->second;
    ++found_.judged;
    const verify::Verdict verdict = verify::verify(bounds_.with(choice), options_);
    known_.emplace(choice, verdict.outcome);
    if (verdict.outcome != verify::Outcome::proved) why_not(choice, verdict);
    return verdict.outcome;
  }
  bool proved(const Choice& choice) { return judged(choice) == verify::Outcome::proved; }

  void why_not(const Choice& choice, const verify::Verdict& verdict) {
    for (const verify::Obligation& o : verdict.obligations) {
      if (o.outcome != verdict.outcome) continue;
      reason_ = fmt::format("With {} for each: {} {}", choice.front(), name_of(o.kind),
                            name_of(o.outcome));
      if (o.counterexample) {
        const int count = o.counterexample->microbatches;
        reason_ += fmt::format(", with {} microbatch{}", count, count == 1 ? "" : "es");
      }
      reason_ += o.reason.empty() ? "." : ". " + o.reason;
      return;
    }
  }

  [[nodiscard]] Choice all(std::int64_t value) const {
    return Choice(bounds_.least().size(), value);
  }
  [[nodiscard]] std::int64_t start() const {
    return *std::max_element(bounds_.least().begin(), bounds_.least().end());
  }

  // With a committed order, the amounts that a rank holds depend only on the order. So a rank needs
  // the peaks that it has without capacities. Pairs hold more if there is room, but do not need it.
  bool find_peaks() {
    if (!program_.dispatch.in_order || !bounds_.of_pools()) return false;
    ++found_.judged;
    Program measured = bounds_.without();
    measured.pairs.clear();
    const verify::Verdict verdict = verify::verify(measured, options_);
    if (verdict.outcome != verify::Outcome::proved) return false;
    const auto& peaks = obligation(verdict, verify::ObligationKind::memory).peak.at(name_);
    Choice each;
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      if (!peaks[i]) return false;
      each.push_back(std::max(peaks[i]->bound, bounds_.least()[i]));
    }
    const std::int64_t most = *std::max_element(each.begin(), each.end());
    if (!proved(each) || !proved(all(most))) return false;
    found_.each = std::move(each);
    found_.uniform = most;
    return true;
  }

  bool find_uniform() {
    const std::int64_t unit = bounds_.unit();
    const auto lanes = static_cast<std::int64_t>(program_.lanes.size());
    std::int64_t most = std::max(8 * start(), start() + lanes * unit);
    if (const auto enough = bounds_.enough()) most = std::min(most, std::max(*enough, start()));
    std::int64_t too_few = start() - unit;
    std::int64_t value = start();
    for (std::int64_t step = unit; !proved(all(value)); step *= 2) {
      too_few = value;
      if (value >= most) {
        found_.reason = fmt::format("None was proved, of {} {} to {} for each. {}", name_, start(),
                                    value, reason_);
        return false;
      }
      value = std::min(value + step, most);
    }
    while (value - too_few > unit) {
      const std::int64_t middle = too_few + (value - too_few) / unit / 2 * unit;
      (proved(all(middle)) ? value : too_few) = middle;
    }
    found_.uniform = value;
    found_.each = all(value);
    return true;
  }

  void settle_uniform() {
    const std::int64_t unit = bounds_.unit();
    if (found_.uniform - start() > kUniformTried * unit) return;
    found_.below_uniform = found_.uniform == start() ? Smaller::none : Smaller::refuted;
    for (std::int64_t value = start(); value < found_.uniform; value += unit) {
      const verify::Outcome outcome = judged(all(value));
      if (outcome == verify::Outcome::unknown) found_.below_uniform = Smaller::not_proved;
      if (outcome == verify::Outcome::proved) found_.uniform = value;
    }
  }

  // Lowers one capacity at a time until none can be lowered further, for at most kPasses passes.
  void lower_each() {
    if (proved(bounds_.least())) {
      found_.each = bounds_.least();
      return;
    }
    bool lowered = true;
    for (int pass = 0; lowered && pass < kPasses; ++pass) {
      lowered = false;
      for (std::size_t i = 0; i < found_.each.size(); ++i) lowered = lower(i) || lowered;
    }
  }

  bool lower(std::size_t i) {
    const std::int64_t unit = bounds_.unit();
    const std::int64_t before = found_.each[i];
    const auto safe = [&](std::int64_t value) {
      Choice choice = found_.each;
      choice[i] = value;
      return proved(choice);
    };
    std::int64_t value = before;
    std::int64_t too_few = bounds_.least()[i] - unit;
    // Most capacities cannot be lowered, so the value that is one unit less is tried first.
    if (value - too_few > unit && !safe(value - unit)) return false;
    while (value - too_few > unit) {
      const std::int64_t middle = too_few + (value - too_few) / unit / 2 * unit;
      (safe(middle) ? value : too_few) = middle;
    }
    found_.each[i] = value;
    return value < before;
  }

  void settle_sum() {
    const std::int64_t unit = bounds_.unit();
    const std::int64_t excess = (sum_of(found_.each) - sum_of(bounds_.least())) / unit;
    if (excess == 0) {
      found_.below_sum = Smaller::none;
    } else if (each_is_a_peak()) {
      found_.below_sum = Smaller::refuted;
    } else if (choices_below(excess) <= kChoicesTried) {
      found_.below_sum = Smaller::refuted;
      for (std::int64_t e = 0; e < excess; ++e) {
        Choice choice = bounds_.least();
        if (try_all(choice, 0, e)) return;
      }
    }
  }

  // Whether, under a committed order, each capacity is refuted if one unit is taken from it. Then
  // no smaller sum is safe: a rank below its peak blocks, whatever the capacities of others are.
  bool each_is_a_peak() {
    if (!program_.dispatch.in_order || !bounds_.of_pools() || has_other_engines(program_)) {
      return false;
    }
    for (std::size_t i = 0; i < found_.each.size(); ++i) {
      if (found_.each[i] <= bounds_.least()[i]) continue;
      Choice choice = found_.each;
      choice[i] -= bounds_.unit();
      if (judged(choice) != verify::Outcome::refuted) return false;
    }
    return true;
  }

  // The number of choices with a smaller sum; if this is above kChoicesTried, some number above it.
  [[nodiscard]] std::int64_t choices_below(std::int64_t excess) const {
    const auto n = static_cast<std::int64_t>(bounds_.least().size());
    std::int64_t all = 0;
    std::int64_t of_this = 1;  // the ways to give e units to n instances
    for (std::int64_t e = 0; e < excess; ++e) {
      all += of_this;
      if (all > kChoicesTried) break;
      of_this = of_this * (n + e) / (e + 1);
    }
    return all;
  }

  // Tries every way to give `units` to the instances from `i` on; returns true once one is proved.
  bool try_all(Choice& choice, std::size_t i, std::int64_t units) {
    if (i + 1 == choice.size() || units == 0) {
      choice[i] += units * bounds_.unit();
      const verify::Outcome outcome = judged(choice);
      if (outcome == verify::Outcome::proved) found_.each = choice;
      if (outcome == verify::Outcome::unknown) found_.below_sum = Smaller::not_proved;
      choice[i] -= units * bounds_.unit();
      return outcome == verify::Outcome::proved;
    }
    for (std::int64_t here = units; here >= 0; --here) {
      choice[i] += here * bounds_.unit();
      const bool done = try_all(choice, i + 1, units - here);
      choice[i] -= here * bounds_.unit();
      if (done) return true;
    }
    return false;
  }

  const Program& program_;
  const std::string& name_;
  verify::VerifyOptions options_;
  Bounds bounds_;
  std::map<Choice, verify::Outcome> known_;
  std::string reason_;  // why the last unproved choice was not proved
  LeastCapacity found_;
};

}  // namespace

std::vector<std::string> least_names(const Program& program) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const spec::Resource& r : program.resources) add(r.name);
  for (const spec::Inbox& inbox : program.inboxes)
    add(inbox.channel.empty() ? kLinks : inbox.channel);
  return names;
}

LeastCapacity least_capacity(const Program& program, const std::string& name,
                             const verify::VerifyOptions& options) {
  return LeastSearch(program, name, options).run();
}

}  // namespace ripeline::optimise
