// Parses any bytes as a program, prints, parses again and elaborates it. A finding is a crash, a
// sanitizer's report, a hang, or a tree or program that print() does not preserve.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "spec/elaborate.h"
#include "spec/parse.h"
#include "spec/print.h"

namespace {

using namespace ripeline::spec;

// Limits on the text's bytes and the program's lanes, since the time grows with both.
constexpr std::size_t kMostBytes = 16384;
constexpr int kMostLanes = 64;

void require(bool holds, const char* law, const std::string& about) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s\n", law, about.c_str());
  std::abort();
}

void require_errors(const Source& source, const Diagnostics& errors) {
  require(!errors.empty(), "a failure has errors", source.text);
  const std::string rendered = render(source, errors);
  for (const Diagnostic& error : errors) {
    require(!error.id.empty() && !error.message.empty(), "an error has an id and a message",
            rendered);
    require(error.span.begin <= source.text.size(), "an error stands in the text", rendered);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return -1;
  const Source source{"input", {reinterpret_cast<const char*>(data), size}};
  const Result<ast::Pipeline> tree = parse(source);
  if (!tree.ok()) {
    require_errors(source, tree.errors());
    return 0;
  }
  const Source printed{"printed", print(tree.value())};
  const Result<ast::Pipeline> again = parse(printed);
  require(again.ok(), "what print() wrote parses", printed.text);
  require(ast::same(tree.value(), again.value()), "it is the same tree", printed.text);
  require(print(again.value()) == printed.text, "it is printed as the same text", printed.text);

  ElaborateOptions options;
  options.most_lanes = kMostLanes;
  const Result<Program> program = elaborate(tree.value(), source, options);
  const Result<Program> same = elaborate(again.value(), printed, options);
  require(program.ok() == same.ok(), "both compile, or neither does", printed.text);
  if (!program.ok()) {
    require_errors(source, program.errors());
    return 0;
  }
  require(program.value().hash == same.value().hash, "both have one hash", printed.text);
  return 0;
}
