// The smallest capacities of a resource, or slots of a channel or of links, with which a program
// is still proved.
//
// Each reported choice of amounts was proved. Safety is not assumed to be monotone, since more room
// may let an op run ahead and deadlock elsewhere. So smaller choices are called unsafe only if each
// of them was refuted, or if the dispatch commits to an order (docs/proofs.md). Limits are counted
// in programs judged and solver steps, never in seconds. Pure functions; never throw;
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::optimise {

// The names that least_capacity() takes: each resource; each channel that carries messages; and,
// unless one of these has that name, `links` for all bounded links without a channel.
[[nodiscard]] std::vector<std::string> least_names(const spec::Program& program);

struct LeastCapacity {
  // The verdict on all smaller amounts.
  enum class Smaller : std::uint8_t {
    none,        // no smaller amount lets each op start
    refuted,     // each smaller amount was refuted, or is too small for an op
    not_proved,  // some smaller amounts were not refuted, but none was proved
    not_tried,   // too many to try; for `sum`, no single capacity can be lowered
  };
  verify::Outcome outcome = verify::Outcome::unknown;  // proved; or unknown, see `reason`
  std::string reason;
  std::vector<std::string> instances;  // such as `activation of stage 2`
  std::int64_t uniform = 0;            // one capacity that suffices for each instance
  Smaller below_uniform = Smaller::not_tried;
  std::vector<std::int64_t> each;  // per instance
  std::int64_t sum = 0;
  Smaller below_sum = Smaller::not_tried;
  int judged = 0;  // the number of programs judged
};
// `name` is one of least_names().
[[nodiscard]] LeastCapacity least_capacity(const spec::Program& program, const std::string& name,
                                           const verify::VerifyOptions& options = {});

}  // namespace ripeline::optimise
