// The exit code of a process that runs a rank. The code says what went wrong, for scripts and for
// programs that start runs again.
//
// The codes 1 and 2 are left to the program, for its own verdict and for errors in its command
// line. Codes from 64 on are left to sysexits.h, the shell and signals, except kToldToEnd.
// `ripeline launch` ends with the code of the first rank that fails.
#pragma once

#include "core/status.h"

namespace ripeline::runtime {

// 128 + SIGTERM, as in shells: the rank was told to end, has reported that, and ended by itself
// (runtime/termination.h).
inline constexpr int kToldToEnd = 143;

// The exit code for main() to return.
[[nodiscard]] constexpr int exit_code_of(core::StatusCode code) {
  switch (code) {
    case core::StatusCode::ok:
      return 0;
    case core::StatusCode::invalid:
      return 10;
    case core::StatusCode::refused:
      return 11;
    case core::StatusCode::lost:
      return 12;
    case core::StatusCode::timeout:
      return 13;
    case core::StatusCode::breach:
      return 14;
    case core::StatusCode::failed:
      return 15;
  }
  return 15;
}

}  // namespace ripeline::runtime
