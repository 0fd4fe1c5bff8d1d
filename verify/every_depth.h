// Every depth: a proof for every number of ranks, as well as every microbatch count.
//
// For programs whose stages look alike: chains, loops and V placements with a fixed number of
// stages per rank. The obligations are those of verify/verify.h, each said of every number of ranks
// from `every_rank_from` up; proved or unknown, never refuted: which number of ranks sticks is a
// question for verify(). What cannot be read or shown is unknown, with where it fails.
// docs/proofs.md has the argument. Never throws. Thread-safe: no shared state.
#pragma once

#include "spec/ast.h"
#include "spec/elaborate.h"
#include "verify/verify.h"

namespace ripeline::verify {

struct DepthVerdict {
  Verdict verdict;       // without a ProvedProgram: there are many
  spec::Program sample;  // the program with the fewest ranks, under a hash of several
};

// `options` does not define `ranks`. Errors: of no small number of ranks is it a program.
[[nodiscard]] spec::Result<DepthVerdict> verify_every_depth(
    const spec::ast::Pipeline& pipeline, const spec::Source& source,
    const spec::ElaborateOptions& options, const VerifyOptions& verify_options = {});

}  // namespace ripeline::verify
