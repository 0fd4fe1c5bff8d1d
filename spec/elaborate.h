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

// The bytes of a file that a program names, by the path as written. On failure it returns one
// error, with the reason but without the path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// The microbatch counts of -m, from the first to the last.
struct AskedCounts {
  int first = 1;
  int last = 1;
};

struct ElaborateOptions {
  std::map<std::string, std::int64_t>
      defines;  // -D name=value; `microbatches` narrows the range to one count
  // -m: narrows the range to these counts; checks of single counts are made for these only.
  std::optional<AskedCounts> microbatches = {};
  // If set, the hash is computed before -m narrows the range, as the run is one of that program.
  bool keeps_hash = false;
  std::string dispatch;      // --dispatch "ready by NAME"; empty if as written
  int most_lanes = 200'000;  // also limits stages; bounds time and sums
  ReadFile read_file = {};   // if empty, no order can be read from a file
};

[[nodiscard]] Result<Program> elaborate(const ast::Pipeline& pipeline, const Source& source,
                                        const ElaborateOptions& options = {});

// The tree with the counts of -m in place of its own, unless a hash is kept. Elaborated without the
// option, it gives a program for these counts alone.
[[nodiscard]] ast::Pipeline narrowed(ast::Pipeline pipeline, const ElaborateOptions& options);

// parse, then elaborate.
[[nodiscard]] Result<Program> compile(const Source& source, const ElaborateOptions& options = {});

}  // namespace ripeline::spec
