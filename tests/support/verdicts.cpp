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

std::vector<std::optional<std::int64_t>> peaks_of(const verify::Verdict& verdict,
                                                  const std::string& resource) {
  std::vector<std::optional<std::int64_t>> bounds;
  for (const auto& peak : find(verdict, "memory").peak.at(resource)) {
    bounds.push_back(peak ? std::optional(peak->bound) : std::nullopt);
  }
  return bounds;
}

}  // namespace ripeline::testing_support
