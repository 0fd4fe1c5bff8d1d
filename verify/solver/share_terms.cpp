#include "verify/solver/share_terms.h"

#include <numeric>
#include <vector>

namespace ripeline::verify {

using spec::Share;

namespace {

// The share of those m for which `has(m)` is true; its period is a multiple of both periods.
template <class Has>
Share chosen(const Share& a, const Share& b, const Has& has) {
  Share share{std::lcm(a.period, b.period), 0};
  for (int m = 0; m < share.period; ++m) {
    if (has(m)) share.remainders |= std::uint64_t{1} << m;
  }
  return share;
}

}  // namespace

Share without(const Share& share, const Share& other) {
  return chosen(share, other, [&](int m) { return share.has(m) && !other.has(m); });
}

Share needed_share(const spec::Program& program, const spec::Edge& edge) {
  const Share& from = at(program.lanes, edge.producer).share;
  const Share& to = at(program.lanes, edge.consumer).share;
  const int later = edge.of == spec::Of::before ? 1 : 0;
  return chosen(from, to, [&](int m) { return from.has(m) && to.has(m + later); });
}

Term below(Solver& solver, const spec::Share& share, Term microbatches) {
  if (share.is_all()) return microbatches;
  const Term rest = floor_mod(microbatches, share.period);
  std::vector<Term> parts{share.size() * floor_div(microbatches, share.period)};
  for (int m = 0; m + 1 < share.period; ++m) {
    if (!share.has(m)) continue;
    parts.push_back(if_then_else(solver.number(m) < rest, solver.number(1), solver.number(0)));
  }
  return solver.sum(parts);
}

Term microbatch(Solver& solver, const spec::Share& share, Term k) {
  if (share.is_all()) return k;
  std::vector<Term> parts{share.period * floor_div(k, share.size())};
  const Term rest = floor_mod(k, share.size());
  for (int i = 0; i < share.size(); ++i) {
    parts.push_back(if_then_else(rest == solver.number(i), solver.number(share.microbatch(i)),
                                 solver.number(0)));
  }
  return solver.sum(parts);
}

Term reach(Solver& solver, const spec::Share& share, Term tasks) {
  if (share.is_all()) return tasks;
  const Term last = microbatch(solver, share, tasks - solver.number(1));
  return if_then_else(tasks <= solver.number(0), solver.number(0), last + solver.number(1));
}

}  // namespace ripeline::verify
