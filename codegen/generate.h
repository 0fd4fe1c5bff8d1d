// generate: writes a proved program as one C++ header, its ready-set arbiter.
//
// The header holds all ranks and every microbatch count in range, with the params replaced by their
// values; it includes core/ alone. The same program gives the same bytes on every machine: no
// dates, no paths. Never fails for a proved program.
#pragma once

#include <string>
#include <vector>

#include "verify/proved_program.h"

namespace ripeline::codegen {

struct GenerateOptions {
  std::string name;     // the name of the namespace and file; is_namespace() holds
  std::string file;     // base name of the source, for the banner
  std::string command;  // how to regenerate, for the banner
};

// Whether the generated text can be in a namespace of this name: a C++ identifier that is no
// keyword and has no other meaning in the text.
[[nodiscard]] bool is_namespace(const std::string& name);

// The constructs of the program that generated code does not support; if any, generate nothing.
[[nodiscard]] std::vector<std::string> not_generated(const spec::Program& program);

[[nodiscard]] std::string generate(const verify::ProvedProgram& proved,
                                   const GenerateOptions& options);

// For experiments and for replaying refutations: the file and its facts, and so the log and the
// trace, say that nothing was proved.
[[nodiscard]] std::string generate_unproved(const spec::Program& program,
                                            const GenerateOptions& options);

// A C++ program for `ripeline validate`: it includes the header, which has this namespace, and
// prints the tables and what the rules answer (validate/probe/probe.h).
[[nodiscard]] std::string probe(const std::string& name, const std::string& header);

}  // namespace ripeline::codegen
