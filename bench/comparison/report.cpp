#include "bench/comparison/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace ripeline::bench::comparison {
namespace {

using Held = std::vector<std::int64_t>;

constexpr std::size_t kName = 35;  // the width of a condition's name

// The geometric mean of the ratios of a's time to b's, over the seeds.
optimise::Gain gain(const std::vector<StepResult>& a, const std::vector<StepResult>& b) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    logs.push_back(std::log(a[i].makespan / b[i].makespan));
  }
  return optimise::gain_of(logs);
}

Held most_held(const StepResults& runs, std::size_t contender) {
  Held held;
  for (const auto& of_condition : runs) {
    for (const StepResult& run : of_condition[contender]) {
      held.resize(run.held.size());
      for (std::size_t rank = 0; rank < held.size(); ++rank) {
        held[rank] = std::max(held[rank], run.held[rank]);
      }
    }
  }
  return held;
}

bool is_within(const Held& some, const Held& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](auto a, auto b) { return a <= b; });
}

class Cells {
 public:
  Cells(const std::vector<Contender>& contenders, const Plan& plan, const Sides& sides)
      : contenders_(contenders), plan_(plan), sides_(sides) {}

  std::vector<Cell> make() {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const Subject& subject = contenders_[i].subject;
      for (const StepResults* runs : {&sides_.simulated, &sides_.emulated}) {
        const Held held = most_held(*runs, i);
        if (is_within(held, subject.proved())) continue;
        throw std::runtime_error(fmt::format("{} held {}, and may hold {}", subject.name(),
                                             numbers(held), numbers(subject.proved())));
      }
    }
    std::vector<Cell> cells;
    for (std::size_t condition = 0; condition < plan_.conditions.size(); ++condition) {
      for (std::size_t hint = 0; hint < contenders_.size(); ++hint) {
        if (!contenders_[hint].is_fixed()) cells.push_back(cell(condition, hint));
      }
    }
    return cells;
  }

 private:
  [[nodiscard]] Cell cell(std::size_t condition, std::size_t hint) const {
    const auto& emulated = sides_.emulated[condition];
    const auto& simulated = sides_.simulated[condition];
    Cell cell;
    cell.condition = plan_.conditions[condition].name;
    cell.fixed = fixed_of(hint);
    cell.hint = hint;
    cell.best = best_for(condition, hint);
    cell.emulated = gain(emulated[cell.fixed], emulated[hint]);
    cell.simulated = gain(simulated[cell.fixed], simulated[hint]);
    cell.over_best = gain(emulated[cell.best], emulated[hint]);
    cell.fixed_off = gain(emulated[cell.fixed], simulated[cell.fixed]).ratio - 1;
    cell.hint_off = gain(emulated[hint], simulated[hint]).ratio - 1;
    for (const std::size_t who : {cell.fixed, hint}) {
      for (std::size_t seed = 0; seed < emulated[who].size(); ++seed) {
        const StepResult& run = emulated[who][seed];
        cell.other_orders += run.orders != simulated[who][seed].orders ? 1 : 0;
        cell.behind = std::max(cell.behind, run.behind);
      }
    }
    for (const double number : {cell.emulated.ratio, cell.simulated.ratio, cell.over_best.ratio}) {
      if (std::isfinite(number) && number > 0) continue;
      throw std::runtime_error(
          fmt::format("{}, {}: no number", cell.condition, contenders_[hint].subject.name()));
    }
    return cell;
  }

  [[nodiscard]] std::size_t fixed_of(std::size_t hint) const {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (contenders_[i].is_fixed() && contenders_[i].against == contenders_[hint].against) {
        return i;
      }
    }
    throw std::runtime_error(contenders_[hint].subject.name() + " has no fixed order");
  }

  [[nodiscard]] std::size_t best_for(std::size_t condition, std::size_t hint) const {
    const auto& runs = sides_.emulated[condition];
    std::size_t best = fixed_of(hint);
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (!contenders_[i].is_fixed()) continue;
      const bool fits =
          is_within(contenders_[i].subject.proved(), contenders_[hint].subject.proved());
      if (fits && gain(runs[best], runs[i]).ratio > 1) best = i;
    }
    return best;
  }

  const std::vector<Contender>& contenders_;
  const Plan& plan_;
  const Sides& sides_;
};

class Print {
 public:
  Print(const std::vector<Contender>& contenders, const Plan& plan, const Sides& sides,
        const std::vector<Cell>& cells)
      : contenders_(contenders), plan_(plan), sides_(sides), cells_(cells) {}

  // Prints all hints that are measured against one fixed order, with equal memory or with RRFP's.
  void block(std::size_t fixed, bool limit) const {
    std::vector<std::size_t> hints;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const Contender& c = contenders_[i];
      if (!c.is_fixed() && c.limit == limit && c.against == contenders_[fixed].against) {
        hints.push_back(i);
      }
    }
    if (hints.empty()) return;
    fmt::print("\nagainst {}, {}\n{}", name(fixed),
               limit ? "with 32 activations at every stage: UNEQUAL memory" : "equal memory",
               filled("", kName));
    for (const std::size_t hint : hints) fmt::print("{:>17}", name(hint));
    fmt::print("\n");
    for (const Condition& condition : plan_.conditions) {
      fmt::print("{}", filled(condition.name, kName));
      for (const std::size_t hint : hints) {
        const Cell& c = cell(condition.name, hint);
        fmt::print("{:>11.3f} {:>5.3f}", c.emulated.ratio, c.simulated.ratio);
      }
      fmt::print("\n");
    }
    held(fixed);
    for (const std::size_t hint : hints) held(hint);
  }

  void losses() const {
    const std::vector<const Cell*> slower =
        sorted([](const Cell& c) { return c.emulated.ratio < 0.9995 ? c.emulated.ratio : kNot; });
    fmt::print("\nslower than the fixed order, {} of {} cells\n", slower.size(), cells_.size());
    for (const Cell* c : slower) {
      fmt::print("  {} {} {}, simulated {:.3f}\n", filled(name(c->hint), 12),
                 filled(name(c->fixed) + ", " + c->condition, kName + 14), text_of(c->emulated),
                 c->simulated.ratio);
    }
  }

  void waiting_hints() const {
    const std::vector<const Cell*> waiting = sorted([this](const Cell& c) {
      return contenders_[c.hint].subject.waits() ? c.over_best.ratio : kNot;
    });
    if (waiting.empty()) return;
    const auto least = std::count_if(waiting.begin(), waiting.end(),
                                     [](const Cell* c) { return c->over_best.ratio < kLeastGain; });
    fmt::print(
        "\nRN and FC against the fastest fixed order that holds no more on any rank: {} of {} "
        "cells below {}; the least\n",
        least, waiting.size(), kLeastGain);
    const auto shown = static_cast<std::size_t>(std::max<std::ptrdiff_t>(least, 3));
    for (std::size_t i = 0; i < std::min(shown, waiting.size()); ++i) {
      const Cell& c = *waiting[i];
      fmt::print("  {} {} {}, of {}\n", filled(name(c.hint), 12),
                 filled(name(c.fixed) + ", " + c.condition, kName + 14), text_of(c.over_best),
                 name(c.best));
    }
  }

  void differences() const {
    const std::vector<const Cell*> off =
        sorted([](const Cell& c) { return c.is_off() ? -std::abs(c.off()) : kNot; });
    double most = 0;
    double most_of_time = 0;
    for (const Cell& c : cells_) {
      most = std::max(most, std::abs(c.off()));
      most_of_time = std::max({most_of_time, std::abs(c.fixed_off), std::abs(c.hint_off)});
    }
    fmt::print(
        "\nprocesses against the simulator: a cell is off by {:.1f} % at most, a time by {:.1f} %; "
        "{} of {} cells have something off by more than {:.0f} %\n",
        100 * most, 100 * most_of_time, off.size(), cells_.size(), 100 * kMostOff);
    for (const Cell* c : off) {
      fmt::print(
          "  {} {} {:+.1f} %; times {:+.1f} % fixed, {:+.1f} % hint; another order in {} of {} "
          "runs, at most {:.2f} late\n",
          filled(name(c->hint), 12), filled(name(c->fixed) + ", " + c->condition, kName + 14),
          100 * c->off(), 100 * c->fixed_off, 100 * c->hint_off, c->other_orders, 2 * plan_.seeds,
          c->behind);
    }
  }

 private:
  static constexpr double kNot = std::numeric_limits<double>::infinity();

  [[nodiscard]] const std::string& name(std::size_t contender) const {
    return contenders_[contender].subject.name();
  }
  [[nodiscard]] const Cell& cell(const std::string& condition, std::size_t hint) const {
    return *std::find_if(cells_.begin(), cells_.end(),
                         [&](const Cell& c) { return c.condition == condition && c.hint == hint; });
  }
  void held(std::size_t contender) const {
    fmt::print("  {} proved {}; held {} on processes, {} simulated\n",
               filled(name(contender), kName - 2), numbers(contenders_[contender].subject.proved()),
               numbers(most_held(sides_.emulated, contender)),
               numbers(most_held(sides_.simulated, contender)));
  }
  // The cells whose key is not kNot, by ascending key.
  template <class Key>
  [[nodiscard]] std::vector<const Cell*> sorted(const Key& key) const {
    std::vector<const Cell*> some;
    for (const Cell& c : cells_) {
      if (key(c) < kNot) some.push_back(&c);
    }
    std::stable_sort(some.begin(), some.end(),
                     [&](const Cell* a, const Cell* b) { return key(*a) < key(*b); });
    return some;
  }

  const std::vector<Contender>& contenders_;
  const Plan& plan_;
  const Sides& sides_;
  const std::vector<Cell>& cells_;
};

nlohmann::json json_of(const optimise::Gain& gain) {
  const auto limit = [](double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
  };
  return {{"ratio", gain.ratio}, {"low", limit(gain.low)}, {"high", limit(gain.high)}};
}

}  // namespace

bool Cell::is_off() const {
  return std::abs(off()) > kMostOff || std::abs(fixed_off) > kMostOff ||
         std::abs(hint_off) > kMostOff;
}

std::string numbers(const std::vector<std::int64_t>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

std::string filled(std::string text, std::size_t width) {
  const auto characters =
      static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
      }));
  text.append(width - std::min(width, characters), ' ');
  return text;
}

std::string text_of(const optimise::Gain& gain) {
  if (gain.runs < 2) return fmt::format("{:.3f}", gain.ratio);
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", gain.ratio, gain.low, gain.high);
}

std::vector<Cell> cells_of(const std::vector<Contender>& contenders, const Plan& plan,
                           const Sides& sides) {
  return Cells(contenders, plan, sides).make();
}

void print_field(const std::vector<Contender>& contenders, const Plan& plan, const Sides& sides,
                 const Heading& heading, const std::vector<Cell>& cells) {
  const core::ProgramFacts& facts = plan.subjects.front().facts();
  fmt::print(
      "\n{} ranks of {}, {} microbatches, seeds {} to {}; a forward of 1 takes {} ms, a message "
      "{}, a ballot {}; load {:.2f} before, {:.2f} after\n"
      "time of the fixed order over the hint's: on processes, and simulated\n",
      facts.ranks,
      heading.members == 1 ? "one process" : fmt::format("{} members", heading.members),
      plan.microbatches, plan.first_seed, plan.first_seed + plan.seeds - 1,
      static_cast<double>(plan.unit.count()) / 1e6, heading.latencies.message,
      heading.latencies.ballot, heading.load_before, heading.load_after);
  const Print print(contenders, plan, sides, cells);
  for (const bool limit : {false, true}) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (contenders[i].is_fixed()) print.block(i, limit);
    }
  }
  print.losses();
  print.waiting_hints();
  print.differences();
  std::fflush(stdout);
}

nlohmann::json json_of(const std::vector<Contender>& contenders, const Plan& plan,
                       const Sides& sides, const Heading& heading, const std::vector<Cell>& cells) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Cell& c : cells) {
    const Contender& hint = contenders[c.hint];
    const Subject& fixed = contenders[c.fixed].subject;
    rows.push_back({{"ranks", fixed.facts().ranks},
                    {"members", heading.members},
                    {"microbatches", plan.microbatches},
                    {"unit_ms", static_cast<double>(plan.unit.count()) / 1e6},
                    {"first_seed", plan.first_seed},
                    {"seeds", plan.seeds},
                    {"condition", c.condition},
                    {"fixed", fixed.name()},
                    {"hint", hint.subject.name()},
                    {"equal_memory", fixed.proved() == hint.subject.proved()},
                    {"processes", json_of(c.emulated)},
                    {"simulated", json_of(c.simulated)},
                    {"fixed_off", c.fixed_off},
                    {"hint_off", c.hint_off},
                    {"other_orders", c.other_orders},
                    {"most_behind", c.behind},
                    {"best_fixed", contenders[c.best].subject.name()},
                    {"over_best_fixed", json_of(c.over_best)},
                    {"fixed_proved", fixed.proved()},
                    {"fixed_held", most_held(sides.emulated, c.fixed)},
                    {"hint_proved", hint.subject.proved()},
                    {"hint_held", most_held(sides.emulated, c.hint)},
                    {"load", {heading.load_before, heading.load_after}}});
  }
  return rows;
}

}  // namespace ripeline::bench::comparison
