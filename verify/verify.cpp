// verify(): chooses the judges for a program, within its limits, and draws the verdict.
#include "verify/verify.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>

#include "spec/indexing.h"
#include "spec/long_period.h"
#include "verify/group/group_judge.h"
#include "verify/group/replica_judge.h"
#include "verify/judge/judge.h"
#include "verify/judge/peaks.h"
#include "verify/order/kept_judge.h"
#include "verify/order/order_judge.h"
#include "verify/ready/ready_judge.h"

namespace ripeline::verify {

using spec::Program;

namespace {

std::unique_ptr<Judge> judge_of_one(const Program& program, const VerifyOptions& options) {
  if (program.dispatch.keeps >= 0) return std::make_unique<KeptJudge>(program, options);
  if (program.dispatch.in_order) return std::make_unique<OrderJudge>(program, options);
  return std::make_unique<ReadyJudge>(program, options);
}

std::unique_ptr<Judge> judge_of(const Program& program, const VerifyOptions& options) {
  const bool is_group = program.tensor_parallel.members > 1;
  std::vector<spec::Unsupported> missing = program.unsupported;
  if (missing.empty() && is_group && program.dispatch.keeps >= 0) {
    missing.push_back({"keeping", program.dispatch.span});
  }
  // Solver terms for shares are sums over a period, so long periods are unsupported.
  if (missing.empty() && spec::has_long_period(program) && !program.dispatch.in_order) {
    missing.push_back(
        {"on m where with a period above 64 and readiness-first dispatch", program.dispatch.span});
  }
  if (!missing.empty()) {
    return std::make_unique<NoJudge>(not_supported(missing), missing.front().span);
  }
  std::unique_ptr<Judge> judge = judge_of_one(program, options);
  if (is_group) judge = std::make_unique<GroupJudge>(program, options, std::move(judge));
  if (program.data_parallel.replicas > 1) {
    judge = std::make_unique<ReplicaJudge>(program, options, std::move(judge));
  }
  return judge;
}

// Lower limits for a program of few lanes: a question that they leave open stays open with far
// higher ones, too. So the answer is quick, unless the caller asks for more than the usual limits.
VerifyOptions limits_for(const Program& program, VerifyOptions options) {
  constexpr std::size_t kFewLanes = 12;
  constexpr std::uint64_t kSteps = 1'000'000;
  constexpr std::uint64_t kStates = 200'000;
  const VerifyOptions usual;
  // A group has the states of all its members, so its limits are not lowered.
  if (program.lanes.size() > kFewLanes || program.tensor_parallel.members > 1) return options;
  if (options.solver_steps > 0 && options.solver_steps <= usual.solver_steps) {
    options.solver_steps = std::min(options.solver_steps, kSteps);
  }
  if (options.search_states <= usual.search_states) {
    options.search_states = std::min(options.search_states, kStates);
  }
  return options;
}

Verdict judged(const Program& program, const VerifyOptions& asked) {
  const VerifyOptions options = limits_for(program, asked);
  try {
    return judged_by(*judge_of(program, options), program, [&](const MemoryFinding& memory) {
      return peaks_of(program, options, memory);
    });
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    // Nothing is known, since the exception shows a mistake in the verifier.
    NoJudge none(std::string("The verifier failed: ") + error.what() + ".", {});
    return judged_by(none, program);
  }
}

}  // namespace

Verdict verify(const Program& program, const VerifyOptions& options) {
  Verdict verdict = judged(program, options);
  if (verdict.outcome != Outcome::proved) return verdict;
  ProvedProgram proved;
  proved.program_ = program;
  for (const Obligation& o : verdict.obligations) {
    proved.obligations_.push_back({o.kind, o.method});
  }
  proved.assumptions_ = verdict.assumptions;
  const Obligation& memory = obligation(verdict, ObligationKind::memory);
  std::map<int, std::size_t> next;  // per resource: its instances are in the order of the pools
  for (const spec::Pool& pool : program.pools) {
    const auto& peaks = memory.peak.at(at(program.resources, pool.resource).name);
    const auto& peak = peaks[next[pool.resource]++];
    proved.peaks_.push_back(peak ? std::optional(peak->bound) : std::nullopt);
  }
  verdict.proved = std::move(proved);
  return verdict;
}

}  // namespace ripeline::verify
