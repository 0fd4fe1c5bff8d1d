// generate: a proved program to one C++ header, its ready-set arbiter.
//
// The header holds all ranks and every microbatch count in range, with the params folded in; it
// includes core/ alone. The same program gives the same bytes on every machine: no dates, no paths.
// Never fails for a proved program.
#pragma once

#include <string>
#include <vector>

#include "verify/proved_program.h"

namespace ripeline::codegen {

struct GenerateOptions {
  std::string name;     // the namespace's and the file's, as is_namespace() wants it
  std::string file;     // base name of the source, for the banner
  std::string command;  // how to regenerate, for the banner
};

// Whether the generated text can be in a namespace of this name: a C++ identifier, no keyword, and
// none that means something else in there.
[[nodiscard]] bool is_namespace(const std::string& name);

// The constructs that the program uses and generated code cannot do; generate nothing then.
[[nodiscard]] std::vector<std::string> not_generated(const spec::Program& program);

[[nodiscard]] std::string generate(const verify::ProvedProgram& proved,
                                   const GenerateOptions& options);

// For experiments and for replaying refutations: the file, its facts and hence the log and the
// trace say that nothing was proved.
[[nodiscard]] std::string generate_unproved(const spec::Program& program,
                                            const GenerateOptions& options);

// A C++ program that includes the header, of this namespace, and answers `ripeline validate`: its
// tables, and what its rules say (validate/probe/probe.h).
[[nodiscard]] std::string probe(const std::string& name, const std::string& header);

}  // namespace ripeline::codegen
