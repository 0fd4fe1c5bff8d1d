// `write_stuck FOLDER` generates the arbiters of the programs that deadlock
// (tests/support/link_cases.h), and stuck_arbiters.cpp, which lists them for the tests.
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "codegen/generate.h"
#include "spec/elaborate.h"
#include "tests/support/link_cases.h"

namespace ripeline {
namespace {

bool save(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  return out.good();
}

int run(const std::string& folder) {
  std::string includes;
  std::string entries;
  int number = 0;
  for (const testing_support::Sticking& sticking : testing_support::sticking_programs()) {
    const std::string name = fmt::format("stuck_{}", number++);
    const spec::Source source{name + ".ripe", sticking.text};
    const spec::Result<spec::Program> program = spec::compile(source);
    if (!program.ok()) {
      fmt::print(stderr, "{}", spec::render(source, program.errors()));
      return 1;
    }
    const codegen::GenerateOptions options{
        .name = name, .file = source.name, .command = "build the tests"};
    const std::string header = codegen::generate_unproved(program.value(), options);
    if (!save(fmt::format("{}/{}.h", folder, name), header)) return 1;
    includes += fmt::format("#include \"{}.h\"\n", name);
    entries += fmt::format("      {}::make_arbiter,\n", name);
  }
  const std::string text = fmt::format(
      "#include \"tests/support/stuck_arbiters.h\"\n\n{}\nnamespace ripeline::testing_support "
      "{{\n\n"
      "std::vector<MakeArbiter> stuck_arbiters() {{\n  return {{\n{}  }};\n}}\n\n}}\n",
      includes, entries);
  return save(folder + "/stuck_arbiters.cpp", text) ? 0 : 1;
}

}  // namespace
}  // namespace ripeline

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("write_stuck FOLDER\n", stderr);
    return 2;
  }
  return ripeline::run(argv[1]);
}
