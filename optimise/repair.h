// repair: the nearest changes with which a program is proved that is refuted or unknown.
//
// A change is made in the tree and elaborated, and the whole verdict of the changed program must be
// proved: so what is proved is what the user gets by writing it. Nothing is taken for monotone:
// more room may let an op run ahead and stick elsewhere. Of changes by a number, the least that was
// proved of those tried: by doubling, then halving. Limits are counted in programs judged and in
// solver steps, never in seconds. Not part of verify(), which only judges. Never throws.
// Thread-safe: no shared state.
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
  int most_lanes = 128;              // larger programs are not searched
  int most_lanes_in_order = 48;      // for committed orders of any count; proofs take longer
  int most_judged = 48;              // changed programs
  std::int64_t most_work = 150'000;  // squares of their lanes, in all
  verify::VerifyOptions judging = {
      .solver_steps = 4'000'000, .search_states = 2'000, .find_runs = false};  // per program
};

// The repairs of the first obligation, `deadlock` or `memory`, that is refuted with a run or, if
// the verdict is unknown, unknown. The nearest come first: changes that cost no memory, then slots,
// then capacity, then two changes at once. A repair of an unknown one does not say that the program
// is wrong. `options` are those with which `program` was made of `source`.
struct Repairs {
  std::optional<verify::ObligationKind> obligation;  // nothing: there is nothing to repair
  std::vector<verify::ProvedRepair> proved;
  std::string note;  // why there are none; empty if nothing was there to try
};
[[nodiscard]] Repairs find_repairs(const spec::Source& source,
                                   const spec::ElaborateOptions& options,
                                   const spec::Program& program, const verify::Verdict& verdict,
                                   const RepairOptions& limits = {});
// Puts them into the verdict's obligation, for reports.
void add_repairs(verify::Verdict& verdict, Repairs repairs);

}  // namespace ripeline::optimise
