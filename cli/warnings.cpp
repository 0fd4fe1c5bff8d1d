#include "cli/warnings.h"

#include <iostream>

#include "spec/lint.h"
#include "spec/parse.h"
#include "spec/render.h"

namespace ripeline::cli {

spec::Diagnostics said_warnings(const load::LoadedProgram& loaded) {
  if (loaded.form == load::InputForm::schedule) return {};
  const auto tree = spec::parse(loaded.source);
  if (!tree.ok()) return {};
  spec::Diagnostics warnings = spec::lint(tree.value(), loaded.program);
  std::cerr << spec::render(loaded.source, warnings, spec::Severity::warning);
  return warnings;
}

}  // namespace ripeline::cli
