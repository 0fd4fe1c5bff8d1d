// verify() without a ProvedProgram, with a mistake in the encoding: for tests.
#pragma once

#include "spec/program.h"
#include "verify/judge/fault.h"
#include "verify/verify.h"

namespace ripeline::verify {

[[nodiscard]] Verdict judge_with(const spec::Program& program, const VerifyOptions& options,
                                 Fault fault);

}  // namespace ripeline::verify
