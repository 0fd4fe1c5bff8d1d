#include "tests/compare/tally.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ripeline::compare {
namespace {

constexpr std::size_t kMostSeeds = 20;

void add(Row& row, const Comparison& c) {
  ++row.programs;
  row.proved += c.found == Found::proved ? 1 : 0;
  row.refuted += c.found == Found::refuted ? 1 : 0;
  row.through_hint += c.found == Found::through_hint ? 1 : 0;
  row.not_asked += c.found == Found::not_asked ? 1 : 0;
  row.open += c.found == Found::open ? 1 : 0;
  row.unsupported += c.found == Found::unsupported ? 1 : 0;
  row.visited += c.visited ? 1 : 0;
  row.missed += c.missed ? 1 : 0;
  row.loose += c.loose;
  row.at_most += c.at_most;
}

void add(Row& row, const Row& other) {
  row.programs += other.programs;
  row.proved += other.proved;
  row.refuted += other.refuted;
  row.through_hint += other.through_hint;
  row.not_asked += other.not_asked;
  row.open += other.open;
  row.unsupported += other.unsupported;
  row.visited += other.visited;
  row.missed += other.missed;
  row.loose += other.loose;
  row.at_most += other.at_most;
}

std::string share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.2f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

void Tally::add(std::uint64_t seed, const Comparison& comparison) {
  compare::add(rows["all"], comparison);
  if (comparison.join) {
    compare::add(rows["join"], comparison);
  } else {
    for (const std::string& feature : comparison.features) {
      compare::add(rows[feature], comparison);
    }
  }
  if (!comparison.wrong.empty()) {
    wrong.push_back({seed, fmt::format("{}", fmt::join(comparison.wrong, "; ")), comparison.text});
  }
  if (comparison.missed && missed.size() < kMostSeeds) missed.push_back(seed);
  oracle_seconds += comparison.seconds.oracle;
  verify_seconds += comparison.seconds.verify;
}

void Tally::add(const Tally& other) {
  for (const auto& [name, row] : other.rows) compare::add(rows[name], row);
  wrong.insert(wrong.end(), other.wrong.begin(), other.wrong.end());
  for (const std::uint64_t seed : other.missed) {
    if (missed.size() < kMostSeeds) missed.push_back(seed);
  }
  oracle_seconds += other.oracle_seconds;
  verify_seconds += other.verify_seconds;
}

std::string Tally::table() const {
  std::string text =
      fmt::format("{:<16}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "",
                  "programs", "proved", "refuted", "order", "hint", "open", "share", "missed",
                  "visited", "not yet", "loose", "at most");
  for (const auto& [name, row] : rows) {
    text += fmt::format("{:<16}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
                        name, row.programs, row.proved, row.refuted, row.not_asked,
                        row.through_hint, row.open, share(row.open, row.judged()), row.missed,
                        row.visited, row.unsupported, row.loose, row.at_most);
  }
  text += fmt::format(
      "order: does not list each task once; hint: safe only through the hint; open: unknown "
      "otherwise, and\nits share of what verify supports; missed: left open, though the oracle can "
      "tell; visited: every\nstate of every count in range; not yet: not supported by verify; "
      "loose: proved peaks that no run\nreaches, of those visited; at most: those that verify does "
      "not say to be reached.\n");
  if (!missed.empty()) text += fmt::format("missed, first: {}\n", fmt::join(missed, " "));
  for (const Wrong& w : wrong) {
    text += fmt::format("\nWRONG: seed {}: {}\n{}", w.seed, w.what, w.text);
  }
  return text;
}

}  // namespace ripeline::compare
