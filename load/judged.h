// Verdicts on programs that were read, as users see them: with repairs, and as documents.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "load/program.h"
#include "verify/verify.h"

namespace ripeline::load {

// Adds to the verdict how the program may be repaired: with `search`, proved repairs, if there are
// any (optimise/repair.h), which may take seconds. For a schedule of PyTorch, it only names the
// command that repairs `file`.
void add_repairs(const LoadedProgram& loaded, const std::string& file, bool search,
                 verify::Verdict& verdict);

// Leaves out how long the proofs took, so that two verdicts on a program are reported the same.
void leave_out_times(verify::Verdict& verdict);

// The verdict and the program's warnings as one object, without the name of the file.
[[nodiscard]] nlohmann::json verdict_json(const LoadedProgram& loaded,
                                          const verify::Verdict& verdict);

}  // namespace ripeline::load
