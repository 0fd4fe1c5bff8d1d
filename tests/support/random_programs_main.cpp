// write_random_programs FOLDER FIRST COUNT: writes the random programs of COUNT seeds from FIRST on
// as FOLDER/SEED.ripe, for tests that are not in C++.
//
// A seed also chooses which features its program may have.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/support/random_program.h"

namespace {

using ripeline::testing_support::RandomProgramOptions;

constexpr bool RandomProgramOptions::*kFeatures[] = {
    &RandomProgramOptions::links,   &RandomProgramOptions::once,    &RandomProgramOptions::before,
    &RandomProgramOptions::engines, &RandomProgramOptions::keeping, &RandomProgramOptions::shares,
    &RandomProgramOptions::pairs,   &RandomProgramOptions::groups,  &RandomProgramOptions::hints,
    &RandomProgramOptions::mixed,   &RandomProgramOptions::forks};

// One seed in four has no feature, two have one or two, and one has all of them.
RandomProgramOptions options_of(std::uint64_t seed) {
  RandomProgramOptions options{.max_ranks = 3, .max_chunks = 2, .max_microbatches = 4};
  options.max_tasks = 60;
  const std::uint64_t turn = seed / 4;
  constexpr std::uint64_t kCount = std::size(kFeatures);
  if (seed % 4 == 0) {
    for (const auto feature : kFeatures) options.*feature = true;
  } else if (seed % 4 != 1) {
    options.*kFeatures[turn % kCount] = true;
    if (seed % 4 == 3) options.*kFeatures[(turn / kCount) % kCount] = true;
  } else if (seed % 16 == 9) {
    options.replicas = 2;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: write_random_programs FOLDER FIRST COUNT\n";
    return 2;
  }
  const std::string folder = argv[1];
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::ofstream file(folder + "/" + std::to_string(seed) + ".ripe");
    file << ripeline::testing_support::random_program_text(seed, options_of(seed));
    if (!file.flush()) {
      std::cerr << "cannot write to " << folder << "\n";
      return 2;
    }
  }
  return 0;
}
