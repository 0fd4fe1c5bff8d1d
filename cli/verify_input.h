// Reads and judges one input of `ripeline verify`, and adds it to the findings.
#pragma once

#include <cstdint>
#include <string>

#include "cli/findings.h"
#include "cli/picture_flags.h"
#include "load/program.h"
#include "verify/verify.h"

namespace ripeline::cli {

struct VerifyFlags {
  load::ProgramOptions program;
  bool no_times = false;
  bool no_repairs = false;
  std::uint64_t steps = verify::VerifyOptions{}.solver_steps;
  bool layouts = false;
  std::string least;        // the argument of --least; empty if not given
  std::string certificate;  // the folder; empty if not asked for
  PictureFlags picture;     // a picture of the run that refutes the program
};

// Errors and notes go to standard error. Returns how many warnings the program has.
std::size_t verify_input(const std::string& file, const VerifyFlags& flags, Findings& findings);

}  // namespace ripeline::cli
