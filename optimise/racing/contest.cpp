#include "optimise/racing/contest.h"

#include <utility>

#include "simulate/table_arbiter.h"

namespace ripeline::optimise {
namespace {

End end_of(const simulate::RunReport& report) {
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
        return std::make_unique<simulate::TableArbiter>(program_, storage_->facts(), rank);
      }) {}

Contestant::Contestant(spec::Program program, int microbatches, const core::ProgramFacts& facts,
                       const MakeArbiter& make_arbiter)
    : program_(std::move(program)), microbatches_(microbatches), simulator_(facts, make_arbiter) {}

Outcome Contestant::run(const simulate::TimingOptions& options, std::uint64_t seed) {
  simulate::TimingOptions drawn = options;
  drawn.seed = seed;
  simulate::Timing timing;
  Outcome outcome;
  if (const core::Status s = simulate::Timing::make(program_, microbatches_, drawn, timing);
      !s.ok()) {
    outcome.end = End::refused;
    outcome.failure = s.message();
    return outcome;
  }
  const simulate::RunReport report = simulator_.run(microbatches_, timing, {});
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

const char* name_of(End end) {
  switch (end) {
    case End::ended:
      return "ended";
    case End::stuck:
      return "stuck";
    case End::breach:
      return "breach";
    case End::refused:
      return "refused";
  }
  return "";
}

}  // namespace ripeline::optimise
