// The smallest capacities of a resource, or slots of a channel or of links, that keep a program
// proved.
//
// Every choice that is reported was judged as a whole program and proved. Nothing is taken for
// monotone: more room may let an op run ahead and stick elsewhere. So what is smaller is called
// unsafe only where each of it was refuted, or where the order is committed (docs/proofs.md).
// Limits are counted in programs judged and solver steps, never in seconds. Pure functions; never
// throw; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::optimise {

// The names to ask for: each resource, each channel that carries messages, and `links` for all
// bounded links that are no channel. A resource or channel called `links` comes before these.
[[nodiscard]] std::vector<std::string> least_names(const spec::Program& program);

struct LeastCapacity {
  // The verdict on smaller amounts.
  enum class Smaller : std::uint8_t {
    none,        // there are none: an op could never start
    refuted,     // each was refuted, or cannot do
    not_proved,  // some were not refuted, but none was proved
    not_tried,   // for a sum: no single one can be lowered; for `uniform`: too many to try
  };
  verify::Outcome outcome = verify::Outcome::unknown;  // proved: the following; unknown: `reason`
  std::string reason;
  std::vector<std::string> instances;  // activation of stage 2
  std::int64_t uniform = 0;            // the same for each
  Smaller below_uniform = Smaller::not_tried;
  std::vector<std::int64_t> each;  // per instance
  std::int64_t sum = 0;
  Smaller below_sum = Smaller::not_tried;
  int judged = 0;  // programs
};
// `name` is one of least_names().
[[nodiscard]] LeastCapacity least_capacity(const spec::Program& program, const std::string& name,
                                           const verify::VerifyOptions& options = {});

}  // namespace ripeline::optimise
