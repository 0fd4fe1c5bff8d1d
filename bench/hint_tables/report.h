// Common parts of the tables of bench_hints: options, cells, columns.
//
// A table prints itself to standard output and adds its cells to Cells. A run that fails, or a rank
// that holds more than it may, ends the program by std::runtime_error. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/race.h"
#include "files/new_file.h"

namespace ripeline::bench {

struct Options {
  int first_seed = 1;
  int seeds = 0;  // 0: the default of the table
  Size size;
  int rrfp_microbatches = 128;
  double latency = 0.05;
  double milliseconds = 0;  // in a duration of 1; 0: it has no real unit
  std::string condition;    // a part of conditions' names, or a jitter; if empty, all
  std::string table = "conditions";
  std::string json;
};

// The cells of all tables, in the order in which they were made.
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
                      {"variant", racer.variant},
                      {"condition", condition.name},
                      {"jitter", condition.jitter},
                      {"ratio", r.gain.ratio},
                      {"low", r.gain.low},
                      {"high", r.gain.high},
                      {"worst", r.worst},
                      {"seeds", r.gain.runs},
                      {"notices_per_task", r.notices},
                      {"fixed_peaks", r.fixed_peaks},
                      {"peaks", r.peaks},
                      {"equal_runs", r.equal}});
  }
  [[nodiscard]] nlohmann::json& json() { return cells_; }
  core::Status write(const std::string& file) const {
    return files::write_file(file, cells_.dump(1) + "\n");
  }

 private:
  nlohmann::json cells_ = nlohmann::json::array();
};

[[nodiscard]] inline int seeds_or(const Options& options, int otherwise) {
  return options.seeds > 0 ? options.seeds : otherwise;
}
// The conditions whose names contain options.condition; if none does, the text is read as a jitter.
[[nodiscard]] std::vector<Condition> wanted(const Options& options);
[[nodiscard]] std::string numbers(const std::vector<std::int64_t>& values);
// The spaces that fill the text to a width in characters, where σ and ± count as one each.
[[nodiscard]] std::string padding(std::string_view text, std::size_t width);
// Prints a row for each condition and a column for each racer, then each racer's peaks by rank.
void print_conditions(const Options& options, const std::string& table, const Size& size,
                      const std::vector<Racer>& racers, const std::vector<Condition>& rows,
                      Cells& cells);

// The tables, by subject.
void conditions_table(const Options& options, Cells& cells);
void fixed_table(const Options& options, Cells& cells);
void tails_table(const Options& options, Cells& cells);
void pyramid_table(const Options& options, Cells& cells);
void chunks_table(const Options& options, Cells& cells);
void sizes_table(const Options& options, Cells& cells);
void rrfp_table(const Options& options, Cells& cells);
void causes_table(const Options& options, Cells& cells);

}  // namespace ripeline::bench
