// elaborate: makes a Program from a tree, with the semantic checks.
//
// Replaces the params by their values (with the overrides of -D), places the stages, makes lanes,
// edges and pools, and checks everything that has the same answer for all microbatch counts in
// range. A construct that no reader supports yet is not an error: Program::unsupported lists it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "spec/ast.h"
#include "spec/program.h"

namespace ripeline::spec {

// The bytes of a file that a program names, by the path as written. On failure one error, which
// says why but does not name the path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// The microbatch counts of -m, from the first to the last.
struct AskedCounts {
  int first = 1;
  int last = 1;
};

struct ElaborateOptions {
  std::map<std::string, std::int64_t>
      defines;  // -D name=value; `microbatches` narrows the range to one count
  // -m: narrows the range to these counts; what is checked for each count is checked for these.
  std::optional<AskedCounts> microbatches = {};
  // The hash is that of the program with the range before -m, since the run is one of that program.
  bool keeps_hash = false;
  std::string dispatch;      // --dispatch "ready by NAME"; empty: as written
  int most_lanes = 200'000;  // also for stages; bounds time and sums
  ReadFile read_file = {};   // if empty, no order can come from a file
};

[[nodiscard]] Result<Program> elaborate(const ast::Pipeline& pipeline, const Source& source,
                                        const ElaborateOptions& options = {});

// The tree with the counts of -m in place of its own, unless a hash is kept: what is made of it is
// for these counts alone, without the option.
[[nodiscard]] ast::Pipeline narrowed(ast::Pipeline pipeline, const ElaborateOptions& options);

// parse, then elaborate.
[[nodiscard]] Result<Program> compile(const Source& source, const ElaborateOptions& options = {});

}  // namespace ripeline::spec
