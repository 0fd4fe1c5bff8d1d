#include "tests/support/verdicts.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "spec/elaborate.h"

namespace ripeline::testing_support {

spec::Program compiled(const std::string& text) {
  const spec::Source source{"test.ripe", text};
  auto program = spec::compile(source);
  if (program.ok()) return std::move(program).value();
  ADD_FAILURE() << spec::render(source, program.errors()) << text;
  throw std::invalid_argument("a program of a test does not compile");
}

const verify::Obligation& find(const verify::Verdict& verdict, const std::string& name) {
  for (const verify::Obligation& o : verdict.obligations) {
    if (verify::name_of(o.kind) == name) return o;
  }
  throw std::out_of_range(name);
}

}  // namespace ripeline::testing_support
