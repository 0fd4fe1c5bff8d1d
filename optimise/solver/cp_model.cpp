#include "optimise/solver/cp_model.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "spec/indexing.h"

namespace ripeline::optimise {
namespace {

using Number = CpModel::Value;

class Check {
 public:
  Check(const CpModel& model, const std::vector<Number>& values) : model_(model), values_(values) {}

  std::optional<std::string> domains() const {
    for (int v = 0; v < size_of(values_); ++v) {
      const CpModel::Domain& domain = at(model_.variables, v);
      const Number value = at(values_, v);
      if (value < domain.least || value > domain.most) {
        return fmt::format("variable {} is {}, outside {} .. {}", v, value, domain.least,
                           domain.most);
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> linears() const {
    for (const CpModel::Linear& linear : model_.linears) {
      if (linear.only_if != CpModel::kAlways && !holds(linear.only_if)) continue;
      Number sum = 0;
      for (const auto& [variable, coefficient] : linear.terms) {
        sum += coefficient * at(values_, variable);
      }
      if (sum < linear.least || sum > linear.most) {
        return fmt::format("variable {} is {}, which is too early or too late",
                           linear.terms.front().first, at(values_, linear.terms.front().first));
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> overlaps() const {
    for (const std::vector<int>& intervals : model_.no_overlaps) {
      std::vector<std::tuple<Number, Number, int>> sorted;
      for (const int i : intervals) {
        const CpModel::Interval& interval = at(model_.intervals, i);
        sorted.emplace_back(value(interval.start), value(interval.end), interval.start.variable);
      }
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t k = 1; k < sorted.size(); ++k) {
        if (std::get<0>(sorted[k]) < std::get<1>(sorted[k - 1])) {
          return fmt::format("variables {} and {} overlap", std::get<2>(sorted[k - 1]),
                             std::get<2>(sorted[k]));
        }
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> room() const {
    for (const CpModel::Cumulative& cumulative : model_.cumulatives) {
      std::vector<std::pair<Number, Number>> changes;  // by time; if equal, ends come before starts
      for (const auto& [i, demand] : cumulative.demands) {
        const CpModel::Interval& interval = at(model_.intervals, i);
        if (value(interval.start) >= value(interval.end)) continue;
        changes.emplace_back(value(interval.start), demand);
        changes.emplace_back(value(interval.end), -demand);
      }
      std::sort(changes.begin(), changes.end());
      Number held = 0;
      for (const auto& [when, change] : changes) {
        held += change;
        if (held > cumulative.capacity) {
          return fmt::format("{} are held at {}, of {}", held, when, cumulative.capacity);
        }
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool holds(int literal) const {
    return literal >= 0 ? at(values_, literal) == 1 : at(values_, -literal - 1) == 0;
  }
  [[nodiscard]] Number value(const CpModel::Affine& affine) const {
    return affine.offset +
           (affine.variable < 0 ? 0 : affine.coefficient * at(values_, affine.variable));
  }

  const CpModel& model_;
  const std::vector<Number>& values_;
};

}  // namespace

std::optional<std::string> broken_by(const CpModel& model, const std::vector<Number>& values) {
  if (values.size() != model.variables.size()) {
    return fmt::format("it has {} values for {} variables", values.size(), model.variables.size());
  }
  const Check check(model, values);
  if (auto broken = check.domains()) return broken;
  if (auto broken = check.linears()) return broken;
  if (auto broken = check.overlaps()) return broken;
  return check.room();
}

}  // namespace ripeline::optimise
