// repair: the nearest changes after which a refuted or unknown program is proved.
//
// A change is made in the syntax tree, and the program of the changed tree must be proved. So the
// user gets exactly what was proved. Safety is not assumed to be monotone, since more room may let
// an op run ahead and deadlock elsewhere. A change by a number is tried with growing numbers until
// one is proved, then with smaller ones by halving. Limits are counted in programs judged and in
// solver steps, never in seconds. Not part of verify(), which only judges. Never throws.
// Thread-safe, since there is no shared state.
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
  int most_lanes_in_order = 48;      // committed orders of several counts, slower to prove
  int most_judged = 48;              // changed programs
  std::int64_t most_work = 150'000;  // the sum over these programs of the squares of their lanes
  verify::VerifyOptions judging = {
      .solver_steps = 4'000'000, .search_states = 2'000, .find_runs = false};  // per program
};

// The repairs of the first obligation, `deadlock` or `memory`, that is refuted with a run or, if
// the verdict is unknown, is unknown. Changes that cost no memory come first, then slots, then
// capacity, then two changes at once. The program of an unknown obligation need not be wrong, even
// if there is a repair. `options` are those with which `program` was made from `source`.
struct Repairs {
  std::optional<verify::ObligationKind> obligation;  // nullopt if there is nothing to repair
  std::vector<verify::ProvedRepair> proved;
  std::string note;  // why there are no repairs; empty if no change was tried
};
[[nodiscard]] Repairs find_repairs(const spec::Source& source,
                                   const spec::ElaborateOptions& options,
                                   const spec::Program& program, const verify::Verdict& verdict,
                                   const RepairOptions& limits = {});
// Puts the repairs into the verdict's obligation, for reports.
void add_repairs(verify::Verdict& verdict, Repairs repairs);

}  // namespace ripeline::optimise
