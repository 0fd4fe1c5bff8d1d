// elaborate: tree to Program. The semantic checks are here.
//
// Folds the params (with the overrides of -D), places the stages, makes lanes, edges and pools, and
// checks everything that has one answer for all microbatch counts in range. What the language has
// but no reader supports yet is not an error: it is listed in Program::unsupported.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "spec/ast.h"
#include "spec/program.h"

namespace ripeline::spec {

// The bytes of a file that a program names, by the path as written. One error: why not, without the
// path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Each count from the first to the last.
struct AskedCounts {
  int first = 1;
  int last = 1;
};

struct ElaborateOptions {
  std::map<std::string, std::int64_t>
      defines;  // -D name=value; `microbatches` narrows the range to one count
  // -m: narrows the range to these counts. What is checked for each count is checked for these.
  std::optional<AskedCounts> microbatches = {};
  // The hash is that of the program for the range before -m: a run is one of the program.
  bool keeps_hash = false;
  std::string dispatch;      // --dispatch "ready by NAME"; empty: as written
  int most_lanes = 200'000;  // also of stages; more are refused, so that time and sums are bounded
  ReadFile read_file = {};   // without one, no order comes from a file
};

[[nodiscard]] Result<Program> elaborate(const ast::Pipeline& pipeline, const Source& source,
                                        const ElaborateOptions& options = {});

// parse, then elaborate.
[[nodiscard]] Result<Program> compile(const Source& source, const ElaborateOptions& options = {});

}  // namespace ripeline::spec
