#include "bench/hint_tables/report.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/generated.h"

namespace ripeline::bench {

std::vector<Condition> wanted(const Options& options) {
  std::vector<Condition> all = conditions();
  if (options.condition.empty()) return all;
  std::erase_if(all, [&](const Condition& c) {
    return c.name.find(options.condition) == std::string::npos && c.jitter != options.condition;
  });
  simulate::Jitter jitter;
  if (all.empty() && simulate::Jitter::parse(options.condition, jitter).ok()) {
    all.push_back({options.condition, options.condition});
  }
  return all;
}

std::string numbers(const std::vector<std::int64_t>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

std::string padding(std::string_view text, std::size_t width) {
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return std::string(width - std::min(width, characters), ' ');
}

namespace {

// A racer's results in all conditions.
struct Column {
  Result last;
  std::vector<std::int64_t> peaks;
  int equal = 0;
  int runs = 0;

  void add(const Result& result) {
    last = result;
    peaks.resize(result.peaks.size());
    for (std::size_t i = 0; i < peaks.size(); ++i) peaks[i] = std::max(peaks[i], result.peaks[i]);
    equal += result.equal;
    runs += result.gain.runs;
  }
};

// At the sizes of docs/results.md a hint with the fixed order's memory must use all of it on every
// rank: in each run if backwards are whole, and over all runs if they are split. At other sizes a
// hint may have no use for all its room.
void check_held(const Racer& racer, const Column& column) {
  if (class_of(racer.memory).as_fullest) return;
  const bool split = racer.memory == Memory::h1 || racer.memory == Memory::h2;
  const bool equal = split ? column.peaks == column.last.fixed_peaks : column.equal == column.runs;
  if (equal) return;
  throw std::runtime_error(fmt::format(
      "{} at the memory of {} held as much as the fixed order in {} of {} runs only; most: {}",
      racer.name, class_of(racer.memory).name, column.equal, column.runs, numbers(column.peaks)));
}

void print_held(const std::vector<Racer>& racers, const std::vector<Column>& columns) {
  for (std::size_t i = 0; i < racers.size(); ++i) {
    const Column& c = columns[i];
    fmt::print("held, {:<21} fixed {}; {} {}, equal in {} of {} runs\n",
               class_of(racers[i].memory).name, numbers(c.last.fixed_peaks), racers[i].name,
               numbers(c.peaks), c.equal, c.runs);
  }
}

}  // namespace

void print_conditions(const Options& options, const std::string& table, const Size& size,
                      const std::vector<Racer>& racers, const std::vector<Condition>& rows,
                      Cells& cells) {
  const int seeds = seeds_or(options, 100);
  Field field(size, options.latency, generated, options.first_seed);
  if (options.milliseconds > 0) field.set_milliseconds(options.milliseconds);
  fmt::print("{} ranks, {} microbatches, backward {}, latency {}, seeds {} to {}\n", size.ranks,
             size.microbatches, size.backward, options.latency, options.first_seed,
             options.first_seed + seeds - 1);
  fmt::print("{:<32}", "condition");
  for (const Racer& racer : racers) fmt::print(" {:>10}", racer.name);
  fmt::print("\n");
  std::vector<Column> columns(racers.size());
  double widest = 0;
  for (const Condition& condition : rows) {
    fmt::print("{}{}", condition.name, padding(condition.name, 32));
    for (std::size_t i = 0; i < racers.size(); ++i) {
      const Result result = field.race(racers[i], condition.jitter, seeds);
      cells.add(table, size, racers[i], condition, result);
      widest = std::max(widest, (result.gain.high - result.gain.low) / 2);
      fmt::print(" {:>9.3f}{}", result.gain.ratio, result.gain.high < 0.9995 ? "-" : " ");
      std::fflush(stdout);
      columns[i].add(result);
    }
    fmt::print("\n");
  }
  fmt::print("{:<32}", "notices per task");
  for (const Column& column : columns) fmt::print(" {:>9.2f} ", column.last.notices);
  fmt::print("\n- the hint is slower, with 95 % confidence; widest half interval {:.3f}\n", widest);
  print_held(racers, columns);
  const bool of_the_page = size.ranks == 8 && size.microbatches >= 32 && size.backward == 2;
  if (!of_the_page || !options.condition.empty()) return;
  for (std::size_t i = 0; i < racers.size(); ++i) check_held(racers[i], columns[i]);
}

}  // namespace ripeline::bench
