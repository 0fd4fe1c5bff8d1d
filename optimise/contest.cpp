#include "optimise/contest.h"

#include <cmath>
#include <limits>
#include <utility>

#include "simulate/table_arbiter.h"

namespace ripeline::simulate {
namespace {

// The 97.5 % point of Student's t, by its expansion around the normal distribution's; below four
// degrees of freedom by table.
double student(int freedom) {
  constexpr double kFew[] = {12.706, 4.303, 3.182};
  if (freedom <= 3) return kFew[freedom - 1];
  constexpr double kZ = 1.959964;
  const double n = freedom;
  const double z3 = kZ * kZ * kZ;
  const double z5 = z3 * kZ * kZ;
  const double z7 = z5 * kZ * kZ;
  return kZ + (z3 + kZ) / (4 * n) + (5 * z5 + 16 * z3 + 3 * kZ) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * kZ) / (384 * n * n * n);
}

End end_of(const RunReport& report) {
  if (report.stuck) return End::stuck;
  if (report.status.ok()) return End::ended;
  return report.status.code() == core::StatusCode::breach ? End::breach : End::refused;
}

}  // namespace

Contestant::Contestant(spec::Program program, int microbatches)
    : program_(std::move(program)),
      microbatches_(microbatches),
      storage_(lower::facts_of(program_)),
      simulator_(storage_->facts(), [this](int rank) {
        return std::make_unique<TableArbiter>(program_, storage_->facts(), rank);
      }) {}

Contestant::Contestant(spec::Program program, int microbatches, const core::ProgramFacts& facts,
                       const MakeArbiter& make_arbiter)
    : program_(std::move(program)), microbatches_(microbatches), simulator_(facts, make_arbiter) {}

Outcome Contestant::run(const TimingOptions& options, std::uint64_t seed) {
  TimingOptions drawn = options;
  drawn.seed = seed;
  Timing timing;
  Outcome outcome;
  if (const core::Status s = Timing::make(program_, microbatches_, drawn, timing); !s.ok()) {
    outcome.end = End::refused;
    outcome.failure = s.message();
    return outcome;
  }
  const RunReport report = simulator_.run(microbatches_, timing, {});
  outcome.end = end_of(report);
  outcome.failure = report.stuck ? "deadlock: " + report.waiting : report.status.message();
  const auto in_units = [&](core::Time time) {
    return static_cast<double>(time.count()) / static_cast<double>(timing.unit().nanoseconds);
  };
  outcome.makespan = in_units(report.makespan);
  outcome.span = in_units(report.span);
  outcome.notices = report.notices;
  outcome.tasks = report.tasks;
  outcome.peaks = report.peaks;
  return outcome;
}

Gain gain_of(std::span<const double> logarithms) {
  const auto n = static_cast<double>(logarithms.size());
  double sum = 0;
  for (const double x : logarithms) sum += x;
  const double mean = sum / n;
  double squares = 0;
  for (const double x : logarithms) squares += (x - mean) * (x - mean);
  const int runs = static_cast<int>(logarithms.size());
  if (runs < 2) return {std::exp(mean), 0, std::numeric_limits<double>::infinity(), runs};
  const double error = student(runs - 1) * std::sqrt(squares / (n - 1) / n);
  return {std::exp(mean), std::exp(mean - error), std::exp(mean + error), runs};
}

}  // namespace ripeline::simulate
