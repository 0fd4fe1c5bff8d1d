// Compares hints with the fixed order that has the same memory, for docs/results.md. See --help.
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "bench/hint_tables/report.h"

namespace ripeline::bench {
namespace {

int run(const Options& options) {
  Cells cells;
  if (options.table != "causes" && wanted(options).empty()) {
    std::cerr << "bench_hints: no condition is called '" << options.condition << "'\n";
    return 2;
  }
  if (options.table == "conditions") conditions_table(options, cells);
  if (options.table == "pyramid") pyramid_table(options, cells);
  if (options.table == "chunks") chunks_table(options, cells);
  if (options.table == "rrfp") rrfp_table(options, cells);
  if (options.table == "sizes") sizes_table(options, cells);
  if (options.table == "fixed") fixed_table(options, cells);
  if (options.table == "tails") tails_table(options, cells);
  if (options.table == "causes") causes_table(options, cells);
  if (options.json.empty()) return 0;
  const core::Status written = cells.write(options.json);
  if (!written.ok()) std::cerr << "bench_hints: " << written.message() << '\n';
  return written.ok() ? 0 : 2;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option(
         "--table", options.table,
         "conditions: every condition at one size; fixed: the same without learning; tails: late "
         "messages, 192 microbatches; "
         "chunks: interleaved 1F1B; pyramid: inputs sorted small, large, small; rrfp: RRFP's "
         "conditions, 32 activations at "
         "every stage and (=) at equal memory; causes: one thing changed at a time; sizes: 4 to 32 "
         "ranks, the worst cells")
      ->check(CLI::IsMember(
          {"causes", "chunks", "conditions", "fixed", "pyramid", "rrfp", "sizes", "tails"}));
  app.add_option("--condition", options.condition,
                 "only those with this in their name; or a jitter");
  app.add_option("--seeds", options.seeds, "runs of each cell (100; sizes: 20)")
      ->check(CLI::Range(2, 1'000'000));
  app.add_option("--first-seed", options.first_seed, "of those runs; the others follow it")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--ranks", options.size.ranks, "of tables of one size")
      ->check(CLI::Range(1, 1024));
  app.add_option("--microbatches", options.size.microbatches, "of the table of conditions")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--backward", options.size.backward, "time of a backward; a forward takes 1")
      ->check(CLI::PositiveNumber);
  app.add_option("--latency", options.latency, "of a message")->check(CLI::NonNegativeNumber);
  app.add_option("--milliseconds", options.milliseconds,
                 "of a duration of 1, for J1 to J3, of tables of one size")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", options.json, "write every cell, with confidence intervals and peaks");
}

}  // namespace
}  // namespace ripeline::bench

int main(int argc, char** argv) {
  ripeline::bench::Options options;
  CLI::App app(
      "Hints against the fixed order of the same memory, on the virtual clock. A number is the "
      "time\n"
      "of the fixed order over that of the hint, as geometric mean over seeds that all meet "
      "alike:\n"
      "above 1 the hint is faster. No rank may hold more than its class says; that is checked.");
  ripeline::bench::add_options(app, options);
  app.footer("Example\n  bench_hints --table tails --condition FIFO --seeds 20");
  try {
    app.parse(argc, argv);
    return ripeline::bench::run(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::cerr << "bench_hints: " << e.what() << '\n';
    return 1;
  }
}
