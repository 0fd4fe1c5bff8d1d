// write_batch FOLDER SEED COUNT: generates the arbiters of COUNT random programs as batch_0.cpp ..
// batch_3.cpp, which the property tests compile.
//
// Arbiters of proved programs come from generate(), the others from generate_unproved(), whose text
// is otherwise the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codegen/generate.h"
#include "proptests/generated/batch.h"
#include "spec/elaborate.h"
#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::proptests {
namespace {

// Limits that suffice for most programs of this size; others are generated unproved.
const verify::VerifyOptions kLimits{.solver_steps = 5'000'000, .search_states = 100'000};

// The options of the i-th program. Only an odd i allows bounded links, other engines and the like.
testing_support::RandomProgramOptions shape(int i) {
  testing_support::RandomProgramOptions options;
  options.max_ranks = 2 + i % 3;
  options.max_chunks = 1 + i % 4;
  options.links = options.once = options.before = options.engines = i % 2 == 1;
  options.shares = i % 3 == 1;
  options.keeping = i % 2 == 1;
  options.pairs = i % 4 == 2;
  options.hints = i % 4 != 0;
  return options;
}

struct Written {
  std::string header;
  bool proved = false;
};

Written write(const spec::Program& program, const std::string& name) {
  const codegen::GenerateOptions options{
      .name = name, .file = name + ".ripe", .command = "build the property tests"};
  const verify::Verdict verdict = verify::verify(program, kLimits);
  if (verdict.proved) return {codegen::generate(*verdict.proved, options), true};
  return {codegen::generate_unproved(program, options), false};
}

struct Batch {
  std::string includes;
  std::string entries;
};

struct Chosen {
  std::uint64_t seed = 0;
  spec::Source source;
  spec::Program program;
};

// The i-th program; nullopt if it does not compile. If i is odd, the program is drawn again, up to
// kAttempts times, until it has a feature (spec::features_of()).
std::optional<Chosen> choose(std::uint64_t seed, int i, int count) {
  constexpr int kAttempts = 20;
  for (int attempt = 0;; ++attempt) {
    const std::uint64_t own = seed * 1'000'000 + static_cast<std::uint64_t>(i + attempt * count);
    const spec::Source source{fmt::format("p{}.ripe", i),
                              testing_support::random_program_text(own, shape(i))};
    spec::Result<spec::Program> program = spec::compile(source);
    if (!program.ok()) {
      fmt::print(stderr, "seed {}:\n{}\n{}", own, source.text,
                 spec::render(source, program.errors()));
      return std::nullopt;
    }
    const bool plain = spec::features_of(program.value()).empty();
    if (i % 2 == 1 && plain && attempt < kAttempts) continue;
    return Chosen{own, source, std::move(program).value()};
  }
}

bool save(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  return out.good();
}

int run(const std::string& folder, std::uint64_t seed, int count) {
  std::vector<Batch> batches(kBatches);
  int proved = 0;
  for (int i = 0; i < count; ++i) {
    const std::optional<Chosen> chosen = choose(seed, i, count);
    if (!chosen) return 1;
    const std::string name = fmt::format("p{}", i);
    const Written written = write(chosen->program, name);
    proved += written.proved ? 1 : 0;
    if (!save(fmt::format("{}/{}.h", folder, name), written.header)) return 1;
    Batch& batch = batches[static_cast<std::size_t>(i % kBatches)];
    batch.includes += fmt::format("#include \"{}.h\"\n", name);
    batch.entries += fmt::format(
        "      {{{0}U, R\"ripe({1})ripe\", {2}::make_arbiter, "
        "validate::probe_of<{2}::Rules>({2}::make_arbiter)}},\n",
        chosen->seed, chosen->source.text, name);
  }
  for (int k = 0; k < kBatches; ++k) {
    const Batch& batch = batches[static_cast<std::size_t>(k)];
    const std::string text = fmt::format(
        "#include \"proptests/generated/batch.h\"\n\n{}\nnamespace ripeline::proptests {{\n\n"
        "std::vector<GeneratedProgram> batch_{}() {{\n"
        "  return {{\n{}  }};\n}}\n\n}}\n",
        batch.includes, k, batch.entries);
    if (!save(fmt::format("{}/batch_{}.cpp", folder, k), text)) return 1;
  }
  fmt::print("{} random programs, seed {}: {} proved\n", count, seed, proved);
  return 0;
}

}  // namespace
}  // namespace ripeline::proptests

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("write_batch FOLDER SEED COUNT\n", stderr);
    return 2;
  }
  return ripeline::proptests::run(argv[1], std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
}
