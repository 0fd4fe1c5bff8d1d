// generate: writes a proved program as one C++ header, its ready-set arbiter.
//
// The header holds all ranks and every microbatch count in range, with the params replaced by their
// values; it includes core/ alone. The same program gives the same bytes on every machine, as there
// are no dates or paths. Never fails for a proved program.
#pragma once

#include <string>
#include <vector>

#include "verify/proved_program.h"

namespace ripeline::codegen {

struct GenerateOptions {
  std::string name;     // the name of the namespace and file; is_namespace() holds
  std::string file;     // the base name of the source, for the banner
  std::string command;  // the command that generates the file, for the banner
};

// True if the generated text can be in a namespace of this name: the name is a C++ identifier, is
// no keyword and has no other meaning in the text.
[[nodiscard]] bool is_namespace(const std::string& name);

// The constructs that generated code does not support; if there are any, do not call generate().
[[nodiscard]] std::vector<std::string> not_generated(const spec::Program& program);

// One error per op that LibTorch stages cannot train, as far as that is known without a model.
[[nodiscard]] spec::Diagnostics not_trained(const spec::Program& program);

[[nodiscard]] std::string generate(const verify::ProvedProgram& proved,
                                   const GenerateOptions& options);

// For experiments and for replaying refutations. The generated file and its facts state that
// nothing was proved; the log and the trace of a run repeat this.
[[nodiscard]] std::string generate_unproved(const spec::Program& program,
                                            const GenerateOptions& options);

// A C++ program for `ripeline validate`. It includes the file `header`, whose namespace is `name`,
// and prints the tables and the answers of the rules (validate/probe/probe.h).
[[nodiscard]] std::string probe(const std::string& name, const std::string& header);

}  // namespace ripeline::codegen
