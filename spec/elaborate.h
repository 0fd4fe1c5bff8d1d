// elaborate: makes a Program from a tree, with the semantic checks.
//
// It replaces the params by their values (with the overrides of -D), places the stages, makes
// lanes, edges and pools, and makes every check whose answer is the same for all microbatch counts
// in range. A construct that no reader supports yet is not an error: Program::unsupported lists it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "spec/ast.h"
#include "spec/program.h"

namespace ripeline::spec {

// A function that reads a file which a program names, given the path as written. On failure it
// returns one error, with the reason but without the path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// The microbatch counts of -m, from the first to the last.
struct AskedCounts {
  int first = 1;
  int last = 1;
};

struct ElaborateOptions {
  std::map<std::string, std::int64_t>
      defines;  // -D name=value; `microbatches` narrows the range to one count
  // -m narrows the range to these counts; checks that try single counts try only these.
  std::optional<AskedCounts> microbatches = {};
  // If true, the hash is computed before -m narrows the range, so it is the hash of the full range.
  bool keeps_hash = false;
  std::string dispatch;      // --dispatch "ready by NAME"; empty if as written
  int most_lanes = 200'000;  // also limits stages; bounds time and sums
  ReadFile read_file = {};   // if empty, no order can be read from a file
};

[[nodiscard]] Result<Program> elaborate(const ast::Pipeline& pipeline, const Source& source,
                                        const ElaborateOptions& options = {});

// The tree with its range replaced by the counts of -m, unless `keeps_hash` is set. Elaborated
// without -m, the tree gives a program for these counts alone.
[[nodiscard]] ast::Pipeline narrowed(ast::Pipeline pipeline, const ElaborateOptions& options);

// Parses the source and elaborates the tree.
[[nodiscard]] Result<Program> compile(const Source& source, const ElaborateOptions& options = {});

}  // namespace ripeline::spec
