#include "bench/optimisers/equals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "optimise/racing/contest.h"
#include "optimise/search/list_rule.h"
#include "optimise/steady.h"
#include "optimise/written_order.h"
#include "spec/elaborate.h"

namespace ripeline::bench {
namespace {

using optimise::Form;
using optimise::FormSearch;
using optimise::Objective;
using optimise::Problem;
using optimise::Rows;
using optimise::ShortRows;

// The orders of least makespan that list rules make, by the times that a simulator would
// compute.
std::set<ShortRows> best_of_rules(const optimise::Uniform& uniform, std::int64_t& makespan) {
  std::set<ShortRows> best;
  makespan = INT64_MAX;
  optimise::each_list_rule(uniform, [&](const optimise::ListRule& rule) {
    auto made = optimise::run(uniform, rule, Objective::makespan, makespan);
    if (!made) return true;
    if (made->makespan < makespan) best.clear();
    makespan = made->makespan;
    best.insert(std::move(made->rows));
    return true;
  });
  std::erase_if(best, [&](const ShortRows& rows) {
    const auto order = optimise::timed(uniform, rows);
    return !order || order->makespan != makespan;
  });
  return best;
}

class Field {
 public:
  Field(const Form& form, int seeds) : form_(form), seeds_(seeds) {}

  // The logarithms of the order's times, one for each seed.
  [[nodiscard]] std::vector<double> logs_of(const Rows& rows,
                                            const simulate::TimingOptions& times) const {
    const Problem& problem = *form_.problem;
    const auto text = optimise::with_order(form_.source, problem.program(),
                                           {problem.microbatches()}, problem.model(), rows, {});
    auto program = text.ok() ? spec::compile({form_.source.name, text.value()})
                             : spec::Result<spec::Program>(text.errors());
    if (!program.ok()) throw std::runtime_error(program.errors().front().message);
    optimise::Contestant contestant(std::move(program).value(), problem.microbatches());
    std::vector<double> logs;
    for (int i = 0; i < seeds_; ++i) {
      const optimise::Outcome run = contestant.run(times, 1 + static_cast<std::uint64_t>(i));
      if (run.end != optimise::End::ended) throw std::runtime_error(run.failure);
      logs.push_back(std::log(run.makespan));
    }
    return logs;
  }

 private:
  const Form& form_;
  int seeds_;
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

// The slowest and the fastest order are chosen on the first half of the seeds and compared on the
// second half. On the same seeds, even equal orders would seem to differ.
optimise::Gain spread_of(const std::vector<std::vector<double>>& all) {
  const std::size_t half = all.front().size() / 2;
  const auto is_faster = [half](const std::vector<double>& a, const std::vector<double>& b) {
    return mean(std::span(a).first(half)) < mean(std::span(b).first(half));
  };
  const auto [fastest, slowest] = std::minmax_element(all.begin(), all.end(), is_faster);
  return optimise::gain_over(std::span(*slowest).subspan(half), std::span(*fastest).subspan(half),
                             {});
}

Rows improved(const Problem& problem, const simulate::TimingOptions& times, const Rows& rows,
              double seconds) {
  const auto begun = std::chrono::steady_clock::now();
  const auto steady = optimise::steady_order(
      problem.program(), problem.microbatches(), times, Objective::makespan, rows, {.go_on = [&] {
        const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begun;
        return gone.count() < seconds;
      }});
  if (!steady) throw std::runtime_error("an order cannot be improved on drawn times");
  return steady->rows;
}

std::string text_of(const optimise::Gain& gain) {
  return fmt::format("{:+.2f} % ({:+.2f} .. {:+.2f})", 100 * (gain.ratio - 1), 100 * (gain.low - 1),
                     100 * (gain.high - 1));
}

nlohmann::json json_of(const optimise::Gain& gain) {
  return {{"ratio", gain.ratio}, {"low", gain.low}, {"high", gain.high}, {"runs", gain.runs}};
}

}  // namespace

std::vector<EqualsAsked> equals_to_compare() {
  std::vector<EqualsAsked> all;
  for (const int memory : {8, 12, 15}) {
    // With tails=2:480, 2 % of the messages are late by 20 forwards.
    all.push_back(
        {.costs = {.ranks = 8,
                   .microbatches = 24,
                   .forward = 24,
                   .input = 23,
                   .weight = 12,
                   .latency = 1},
         .memory = memory,
         .jitters = {"uniform=0.1", "uniform=0.3", "lognormal=0.5", "lognormal=1", "tails=2:480"}});
  }
  return all;
}

Equals compare_equals(const EqualsAsked& asked, const Searching& searching) {
  const Forms forms(asked.costs, {asked.memory, 1}, kChain, Objective::makespan);
  const Form& form = forms.all().front();
  const Problem& problem = *form.problem;
  const optimise::UniformProgram& uniform = *problem.uniform();
  FormSearch search(forms.all(), {.seconds = searching.seconds, .seed = searching.seed});
  search.run();
  std::int64_t makespan = 0;
  const std::set<ShortRows> found = best_of_rules(uniform.problem, makespan);
  if (!search.best() || search.best_value() != makespan) {
    throw std::runtime_error(asked.costs.name() + ": list rules do not make what the search finds");
  }
  Equals equals;
  equals.makespan =
      static_cast<double>(makespan) / static_cast<double>(problem.timing().unit().nanoseconds);
  equals.found = static_cast<int>(found.size());
  equals.compared = std::min(equals.found, asked.equals);
  std::vector<Rows> rows;  // taken evenly from those that were found
  std::size_t next = 0;
  for (const ShortRows& one : found) {
    const auto taken = rows.size() * found.size() / static_cast<std::size_t>(equals.compared);
    if (next++ != taken) continue;
    rows.push_back(uniform.rows_of(*optimise::timed(uniform.problem, one), problem.model()));
  }
  const Field field(form, asked.seeds);
  for (const std::string& jitter : asked.jitters) {
    simulate::TimingOptions times = problem.times();
    if (const core::Status s = simulate::Jitter::parse(jitter, times.jitter); !s.ok()) {
      throw std::runtime_error(s.message());
    }
    std::vector<double> average(static_cast<std::size_t>(asked.seeds), 0);
    std::vector<std::vector<double>> all;
    for (const Rows& one : rows) {
      all.push_back(field.logs_of(one, times));
      for (std::size_t i = 0; i < average.size(); ++i) {
        average[i] += all.back()[i] / static_cast<double>(rows.size());
      }
    }
    const Rows& first = search.best()->order.rows;
    const std::vector<double> logs =
        field.logs_of(improved(problem, times, first, searching.seconds), times);
    equals.under.push_back(
        {.jitter = jitter,
         .spread = spread_of(all),
         .over_average = optimise::gain_over(average, logs, {}),
         .over_first = optimise::gain_over(field.logs_of(first, times), logs, {})});
  }
  return equals;
}

void print(const EqualsAsked& asked, const Equals& equals) {
  fmt::print(
      "{}, memory {}: wall {} without jitter, of {} orders of list rules, {} of which are "
      "compared on {} seeds\n{:<16} {:<30} {:<30} {}\n",
      asked.costs.name(), asked.memory, time_text(equals.makespan), equals.found, equals.compared,
      asked.seeds, "", "fastest over slowest", "improved, over their average", "over the first");
  for (const Equals::Under& under : equals.under) {
    fmt::print("{:<16} {:<30} {:<30} {}\n", under.jitter, text_of(under.spread),
               text_of(under.over_average), text_of(under.over_first));
  }
  fmt::print("\n");
}

nlohmann::json json_of(const EqualsAsked& asked, const Equals& equals) {
  nlohmann::json json = {{"model", asked.costs.name()},     {"memory", asked.memory},
                         {"wall", equals.makespan},         {"found", equals.found},
                         {"compared", equals.compared},     {"seeds", asked.seeds},
                         {"under", nlohmann::json::array()}};
  for (const Equals::Under& under : equals.under) {
    json["under"].push_back({{"jitter", under.jitter},
                             {"spread", json_of(under.spread)},
                             {"over_average", json_of(under.over_average)},
                             {"over_first", json_of(under.over_first)}});
  }
  return json;
}

}  // namespace ripeline::bench
