// Hints against the fixed order of the same memory: the tables of docs/hints.md. See --help.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/generated.h"
#include "bench/race.h"
#include "bench/rrfp.h"

namespace ripeline::bench {
namespace {

struct Options {
  int seeds = 0;  // 0: the table's own number
  Size size;
  int rrfp_microbatches = 128;
  double latency = 0.05;
  std::string condition;  // empty: all
  std::string table = "conditions";
  std::string json;
};

// All cells of all tables, as they are made.
class Cells {
 public:
  void add(const std::string& table, const Size& size, const Racer& racer,
           const Condition& condition, const Result& r) {
    cells_.push_back({{"table", table},
                      {"ranks", size.ranks},
                      {"microbatches", size.microbatches},
                      {"backward", size.backward},
                      {"memory", class_of(racer.memory).name},
                      {"hint", racer.name},
                      {"condition", condition.name},
                      {"jitter", condition.jitter},
                      {"ratio", r.gain.ratio},
                      {"low", r.gain.low},
                      {"high", r.gain.high},
                      {"worst", r.worst},
                      {"seeds", r.gain.runs},
                      {"notices_per_task", r.notices},
                      {"fixed_peaks", r.fixed_peaks},
                      {"peaks", r.peaks}});
  }
  [[nodiscard]] nlohmann::json& json() { return cells_; }
  [[nodiscard]] bool write(const std::string& file) const {
    std::ofstream out(file);
    out << cells_.dump(1) << '\n';
    return static_cast<bool>(out.flush());
  }

 private:
  nlohmann::json cells_ = nlohmann::json::array();
};

std::vector<Condition> wanted(const Options& options) {
  std::vector<Condition> all = conditions();
  if (options.condition.empty()) return all;
  std::erase_if(all, [&](const Condition& c) {
    return c.name.find(options.condition) == std::string::npos && c.jitter != options.condition;
  });
  return all;
}

std::string numbers(const std::vector<std::int64_t>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

// Widths count characters, and σ and ± are one each.
std::string padding(std::string_view text, std::size_t width) {
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return std::string(width - std::min(width, characters), ' ');
}

// A row for each condition, a column for each racer; then what each held, rank by rank.
void print_conditions(const Options& options, const std::string& table, const Size& size,
                      const std::vector<Racer>& racers, const std::vector<Condition>& rows,
                      int seeds, Cells& cells) {
  Field field(size, options.latency, generated);
  fmt::print("{} ranks, {} microbatches, backward {}, latency {}, {} seeds\n", size.ranks,
             size.microbatches, size.backward, options.latency, seeds);
  fmt::print("{:<32}", "condition");
  for (const Racer& racer : racers) fmt::print(" {:>10}", racer.name);
  fmt::print("\n");
  std::vector<Result> last(racers.size());
  double widest = 0;
  for (const Condition& condition : rows) {
    fmt::print("{}{}", condition.name, padding(condition.name, 32));
    for (std::size_t i = 0; i < racers.size(); ++i) {
      const Result result = field.race(racers[i], condition.jitter, seeds);
      cells.add(table, size, racers[i], condition, result);
      widest = std::max(widest, (result.gain.high - result.gain.low) / 2);
      fmt::print(" {:>9.3f}{}", result.gain.ratio, result.gain.high < 0.9995 ? "-" : " ");
      std::fflush(stdout);
      last[i] = result;
    }
    fmt::print("\n");
  }
  fmt::print("{:<32}", "notices per task");
  for (const Result& result : last) fmt::print(" {:>9.2f} ", result.notices);
  fmt::print("\n- the hint is slower, with 95 % confidence; widest half interval {:.3f}\n", widest);
  for (std::size_t i = 0; i < racers.size(); ++i) {
    fmt::print("held, {:<28} fixed {}; {} {}\n", class_of(racers[i].memory).name,
               numbers(last[i].fixed_peaks), racers[i].name, numbers(last[i].peaks));
  }
}

std::vector<Racer> main_racers() {
  return {{Memory::p_minus_s, "p-s BF", "ready by bf"},
          {Memory::p_minus_s, "RN", "ready by rn"},
          {Memory::p_minus_s, "FC", "ready by fc"},
          {Memory::max, "max BF", "ready by bf"},
          {Memory::max, "FC", "ready by fc"},
          {Memory::eager, "eager BF", "ready by bf"},
          {Memory::eager, "RN", "ready by rn"},
          {Memory::h1, "H1 BFW", "ready by bfw"},
          {Memory::h1, "RN", "ready by rn"},
          {Memory::h2, "H2 BFW", "ready by bfw"},
          {Memory::h2, "RN", "ready by rn"}};
}

// With the patience of --table conditions fixed, as it is before anything was learned.
void fixed_table(const Options& options, Cells& cells) {
  std::vector<Racer> racers = main_racers();
  for (Racer& racer : racers) racer.learns = false;
  print_conditions(options, "fixed", options.size, racers, wanted(options),
                   options.seeds > 0 ? options.seeds : 100, cells);
}

void conditions_table(const Options& options, Cells& cells) {
  print_conditions(options, "conditions", options.size, main_racers(), wanted(options),
                   options.seeds > 0 ? options.seeds : 100, cells);
}

void tails_table(const Options& options, Cells& cells) {
  const std::vector<Racer> racers = {
      {Memory::p_minus_s, "p-s BF", "ready by bf"}, {Memory::p_minus_s, "FC", "ready by fc"},
      {Memory::eager, "eager BF", "ready by bf"},   {Memory::eager, "RN", "ready by rn"},
      {Memory::eager_max, "max BF", "ready by bf"}, {Memory::eager_max, "RN", "ready by rn"},
      {Memory::h1, "H1 BFW", "ready by bfw"},       {Memory::h1, "RN", "ready by rn"},
      {Memory::h2, "H2 BFW", "ready by bfw"},       {Memory::h2, "RN", "ready by rn"}};
  std::vector<Condition> rows = wanted(options);
  std::erase_if(rows, [](const Condition& c) { return c.jitter.find("tails") == c.jitter.npos; });
  Size size = options.size;
  size.microbatches = 192;
  print_conditions(options, "tails", size, racers, rows, options.seeds > 0 ? options.seeds : 100,
                   cells);
}

// The order of the inputs, for fixed orders and for hints, against the natural one of the fixed
// order.
void pyramid_table(const Options& options, Cells& cells) {
  std::vector<Racer> racers;
  const auto add = [&](Memory memory, const char* name, const char* hint) {
    racers.push_back({memory, name, "", true, true});
    racers.push_back({memory, hint + 9, hint, true, true});
  };
  add(Memory::p_minus_s, "p-s", "ready by fc");
  add(Memory::eager, "eager", "ready by rn");
  add(Memory::h1, "H1", "ready by rn");
  add(Memory::h2, "H2", "ready by rn");
  std::vector<Condition> rows = {{"σ = .3", "input=0.3"},
                                 {"σ = .3, known to 20 %", "input=0.3,estimate=0.2"},
                                 {"σ = .6", "input=0.6"},
                                 {"σ = .6, known to 20 %", "input=0.6,estimate=0.2"},
                                 {"σ = .6, ±30 % beside", "input=0.6,uniform=0.3"}};
  if (!options.condition.empty()) {
    std::erase_if(rows, [&](const Condition& c) {
      return c.name.find(options.condition) == std::string::npos;
    });
  }
  print_conditions(options, "pyramid", options.size, racers, rows,
                   options.seeds > 0 ? options.seeds : 100, cells);
}

// Interleaved 1F1B, several stages on a rank: hints with the program's capacity, and (=) with what
// the fixed order holds, rank by rank.
void chunks_rows(int chunks, const Options& options, Cells& cells) {
  const int seeds = options.seeds > 0 ? options.seeds : 100;
  const Size& size = options.size;
  const auto program = [&](const char* dispatch) {
    spec::ElaborateOptions elaborate;
    elaborate.defines = {{"ranks", size.ranks}, {"chunks", chunks}};
    elaborate.dispatch = dispatch;
    spec::Source source{"interleaved_1f1b", *spec::library_text("interleaved_1f1b")};
    return spec::compile(source, elaborate).value();
  };
  simulate::TimingOptions times;
  times.latency = options.latency;
  simulate::Contestant fixed(program(""), size.microbatches);
  const std::vector<std::int64_t> held = fixed.run(times, 1).peaks;
  const char* names[] = {"follow", "RN", "FC", "follow =", "RN =", "FC ="};
  const char* dispatches[] = {"ready by interleaved", "ready by rn", "ready by fc"};
  std::vector<std::unique_ptr<simulate::Contestant>> hints;
  std::vector<std::vector<std::int64_t>> peaks(std::size(names));
  for (std::size_t i = 0; i < std::size(names); ++i) {
    spec::Program hint = program(dispatches[i % 3]);
    for (std::size_t pool = 0; i >= 3 && pool < held.size(); ++pool) {
      hint.pools[pool].capacity = held[pool];
    }
    hints.push_back(std::make_unique<simulate::Contestant>(std::move(hint), size.microbatches));
  }
  fmt::print("{} stages on each of {} ranks, {} microbatches\n{:<32}", chunks, size.ranks,
             size.microbatches, "condition");
  for (const char* name : names) fmt::print(" {:>9}", name);
  fmt::print("\n");
  for (const Condition& condition : wanted(options)) {
    if (!simulate::Jitter::parse(condition.jitter, times.jitter).ok()) continue;
    fmt::print("{}{}", condition.name, padding(condition.name, 32));
    for (std::size_t i = 0; i < hints.size(); ++i) {
      std::vector<double> logs;
      std::string failure;
      for (int seed = 1; seed <= seeds && failure.empty(); ++seed) {
        const simulate::Outcome a = fixed.run(times, static_cast<std::uint64_t>(seed));
        const simulate::Outcome b = hints[i]->run(times, static_cast<std::uint64_t>(seed));
        failure = a.failure + b.failure;
        logs.push_back(std::log(a.makespan / b.makespan));
        peaks[i].resize(b.peaks.size());
        for (std::size_t pool = 0; pool < b.peaks.size(); ++pool) {
          peaks[i][pool] = std::max(peaks[i][pool], b.peaks[pool]);
        }
      }
      if (!failure.empty()) {
        fmt::print(" {:>9}", "sticks");
        continue;
      }
      const simulate::Gain gain = simulate::gain_of(logs);
      fmt::print(" {:>9.3f}", gain.ratio);
      cells.json().push_back({{"table", "chunks"},
                              {"chunks", chunks},
                              {"ranks", size.ranks},
                              {"microbatches", size.microbatches},
                              {"hint", names[i]},
                              {"condition", condition.name},
                              {"ratio", gain.ratio},
                              {"low", gain.low},
                              {"high", gain.high},
                              {"fixed_peaks", held},
                              {"peaks", peaks[i]}});
    }
    fmt::print("\n");
  }
  fmt::print("held, fixed {}; RN {}; RN = {}\n", numbers(held), numbers(peaks[1]),
             numbers(peaks[4]));
}

void chunks_table(const Options& options, Cells& cells) {
  for (const int chunks : {2, 4}) chunks_rows(chunks, options, cells);
}

struct Cell {
  Size size;
  std::string condition;
  Result result;
};

void print_worst(const Racer& racer, std::vector<Cell> cells) {
  double logs = 0;
  for (const Cell& c : cells) logs += std::log(c.result.gain.ratio);
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return a.result.gain.ratio < b.result.gain.ratio; });
  const auto below = std::count_if(cells.begin(), cells.end(),
                                   [](const Cell& c) { return c.result.gain.ratio < 0.999; });
  fmt::print("{} at the memory of {}: geometric mean {:.3f}, {} of {} cells below 0.999; worst\n",
             racer.name, class_of(racer.memory).name,
             std::exp(logs / static_cast<double>(cells.size())), below, cells.size());
  cells.resize(std::min<std::size_t>(cells.size(), 5));
  for (const Cell& c : cells) {
    fmt::print("  {:.3f} ({:.3f} to {:.3f})  {} ranks, {} microbatches, backward {}, {}\n",
               c.result.gain.ratio, c.result.gain.low, c.result.gain.high, c.size.ranks,
               c.size.microbatches, c.size.backward, c.condition);
  }
}

void sizes_table(const Options& options, Cells& cells) {
  const std::vector<Racer> racers = {
      {Memory::p_minus_s, "BF", "ready by bf"}, {Memory::p_minus_s, "FC", "ready by fc"},
      {Memory::p_minus_s, "RN", "ready by rn"}, {Memory::max, "FC", "ready by fc"},
      {Memory::eager, "RN", "ready by rn"},     {Memory::h1, "RN", "ready by rn"},
      {Memory::h2, "RN", "ready by rn"}};
  const int seeds = options.seeds > 0 ? options.seeds : 20;
  fmt::print("4 to 32 ranks p, p to 8p microbatches, backward 1 to 3, latency {}, {} seeds\n",
             options.latency, seeds);
  std::vector<std::vector<Cell>> all(racers.size());
  for (const int ranks : {4, 8, 16, 32}) {
    for (const int factor : {1, 2, 4, 8}) {
      for (const double backward : {1.0, 2.0, 3.0}) {
        const Size size{ranks, factor * ranks, backward};
        Field field(size, options.latency);
        for (const Condition& condition : wanted(options)) {
          for (std::size_t i = 0; i < racers.size(); ++i) {
            const Result result = field.race(racers[i], condition.jitter, seeds);
            cells.add("sizes", size, racers[i], condition, result);
            all[i].push_back({size, condition.name, result});
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < racers.size(); ++i) print_worst(racers[i], all[i]);
}

void rrfp_rows(const char* workload, const std::vector<rrfp::Entrant>& entrants, int ranks,
               const Options& options, nlohmann::json& cells) {
  const int microbatches = options.rrfp_microbatches;
  const int seeds = options.seeds > 0 ? options.seeds : 100;
  std::vector<std::unique_ptr<simulate::Contestant>> all;
  for (const rrfp::Entrant& entrant : entrants) {
    all.push_back(
        std::make_unique<simulate::Contestant>(rrfp::program_of(entrant, ranks), microbatches));
  }
  std::vector<std::int64_t> held(all.size());
  fmt::print("{}, {} ranks, {} microbatches\n{:<28}", workload, ranks, microbatches, "");
  for (std::size_t i = 1; i < all.size(); ++i) fmt::print(" {:>8}", entrants[i].name);
  fmt::print("\n");
  for (const rrfp::Condition& condition : rrfp::kConditions) {
    const simulate::TimingOptions times = rrfp::times_of(condition);
    std::vector<std::vector<double>> logs(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (int seed = 1; seed <= seeds; ++seed) {
        const simulate::Outcome outcome = all[i]->run(times, static_cast<std::uint64_t>(seed));
        if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
        logs[i].push_back(std::log(outcome.makespan));
        held[i] = std::max(held[i], *std::max_element(outcome.peaks.begin(), outcome.peaks.end()));
      }
    }
    fmt::print("{}{}", condition.name, padding(condition.name, 28));
    for (std::size_t i = 1; i < all.size(); ++i) {
      std::vector<double> ratios;
      for (int s = 0; s < seeds; ++s) {
        ratios.push_back(logs[0][static_cast<std::size_t>(s)] -
                         logs[i][static_cast<std::size_t>(s)]);
      }
      const simulate::Gain gain = simulate::gain_of(ratios);
      fmt::print(" {:>8.3f}", gain.ratio);
      std::fflush(stdout);
      cells.push_back({{"table", "rrfp"},
                       {"workload", workload},
                       {"ranks", ranks},
                       {"microbatches", microbatches},
                       {"condition", condition.name},
                       {"hint", entrants[i].name},
                       {"ratio", gain.ratio},
                       {"low", gain.low},
                       {"high", gain.high}});
    }
    fmt::print("\n");
  }
  fmt::print("{:<28}", fmt::format("most held (1F1B {})", held[0]));
  for (std::size_t i = 1; i < all.size(); ++i) fmt::print(" {:>8}", held[i]);
  fmt::print("\n");
}

void rrfp_table(const Options& options, Cells& cells) {
  for (const int ranks : {4, 8, 16}) {
    rrfp_rows("language", rrfp::kLanguage, ranks, options, cells.json());
    rrfp_rows("multimodal", rrfp::kMultimodal, ranks, options, cells.json());
  }
}

int run(const Options& options) {
  Cells cells;
  if (wanted(options).empty()) {
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
  if (!options.json.empty() && !cells.write(options.json)) {
    std::cerr << "bench_hints: cannot write " << options.json << '\n';
    return 2;
  }
  return 0;
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
  app.add_option(
         "--table", options.table,
         "conditions: every condition at one size; fixed: the same without learning; tails: late "
         "messages, 192 microbatches; "
         "chunks: interleaved 1F1B; pyramid: inputs sorted small, large, small; rrfp: RRFP's "
         "conditions, 32 activations at "
         "every stage and (=) at equal memory; sizes: 4 to 32 ranks, the worst cells")
      ->check(
          CLI::IsMember({"chunks", "conditions", "fixed", "pyramid", "rrfp", "sizes", "tails"}));
  app.add_option("--condition", options.condition, "only those with this in their name");
  app.add_option("--seeds", options.seeds, "runs of each cell (100; sizes: 20)")
      ->check(CLI::Range(2, 1'000'000));
  app.add_option("--ranks", options.size.ranks, "of tables of one size")
      ->check(CLI::Range(1, 1024));
  app.add_option("--microbatches", options.size.microbatches, "of the table of conditions")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--backward", options.size.backward, "time of a backward; a forward takes 1")
      ->check(CLI::PositiveNumber);
  app.add_option("--latency", options.latency, "of a message")->check(CLI::NonNegativeNumber);
  app.add_option("--json", options.json, "write every cell, with confidence intervals and peaks");
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
