// repair: the nearest changes after which a refuted or unknown program is proved.
//
// A change is made in the syntax tree, and the program of the changed tree must be proved. So the
// user gets exactly the program that was proved. Safety is not assumed to be monotone, since more
// room may let an op run ahead and deadlock elsewhere. A change with a number is tried with growing
// numbers until one is proved, then with smaller ones by halving. Limits are counted in programs
// judged and in solver steps, never in seconds. Not part of verify(), which only judges. Never
// throws. Thread-safe, since there is no shared state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/elaborate.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::optimise {

struct RepairOptions {
  int most_repairs = 3;
  int most_lanes = 128;              // no repair is searched for a program with more
  int most_lanes_in_order = 48;      // the same for committed orders of several counts
  int most_judged = 48;              // changed programs
  std::int64_t most_work = 150'000;  // the sum of (number of lanes)^2 over these programs
  verify::VerifyOptions judging = {
      .solver_steps = 4'000'000, .search_states = 2'000, .find_runs = false};  // per program
};

// The repairs of one obligation, `deadlock` or `memory`: the first that is refuted by a run or, if
// the verdict is unknown, the first that is unknown. Changes that cost no memory come first, then
// slots, then capacity, then two changes at once. A program whose obligation is unknown may be safe
// even if repairs are found. `options` must be those with which `program` was made from `source`.
struct Repairs {
  std::optional<verify::ObligationKind> obligation;  // nullopt if there is nothing to repair
  std::vector<verify::ProvedRepair> proved;
  std::string note;  // why there are no repairs; empty if no change was tried
};
[[nodiscard]] Repairs find_repairs(const spec::Source& source,
                                   const spec::ElaborateOptions& options,
                                   const spec::Program& program, const verify::Verdict& verdict,
                                   const RepairOptions& limits = {});
// Stores the repairs in the obligation to which they belong, for reports.
void add_repairs(verify::Verdict& verdict, Repairs repairs);

}  // namespace ripeline::optimise
