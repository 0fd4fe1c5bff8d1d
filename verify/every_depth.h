// Every depth: a proof for every number of ranks, as well as every microbatch count.
//
// For programs whose stages look alike: chains, loops and V placements with a fixed number of
// stages per rank. The obligations are those of verify/verify.h, each for every number of ranks
// from `every_rank_from` up. Each is proved or unknown, never refuted; verify() can refute it for
// one number of ranks. It is unknown if something cannot be read or shown, with a
// place in the source. docs/proofs.md has the argument. Throws as verify() does. Thread-safe.
#pragma once

#include "spec/ast.h"
#include "spec/elaborate.h"
#include "verify/verify.h"

namespace ripeline::verify {

struct DepthVerdict {
  Verdict verdict;       // without a ProvedProgram, as many programs are proved
  spec::Program sample;  // the program with the fewest ranks, with a hash of several depths
};

// `options` must not define `ranks`. Fails if the tree is no program for any small number of ranks.
[[nodiscard]] spec::Result<DepthVerdict> verify_every_depth(
    const spec::ast::Pipeline& pipeline, const spec::Source& source,
    const spec::ElaborateOptions& options, const VerifyOptions& verify_options = {});

}  // namespace ripeline::verify
