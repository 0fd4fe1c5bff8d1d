// About: the data of its run that a trace has, so that a reader needs nothing but the file.
//
// It owns a copy of the program's facts. Movable; immutable but for `run` and `part`. to_json and
// from_json are `otherData` of the file (docs/formats.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/owned_facts.h"
#include "core/status.h"

namespace ripeline::trace {

// Where the times come from.
enum class Source : std::uint8_t { simulated, emulated, trained };
[[nodiscard]] const char* name_of(Source source);

// The name of a duration of 1 where costs have a unit, and its length on the trace's clock.
struct Unit {
  std::string name = "ms";
  std::int64_t nanoseconds = 1'000'000;
  bool operator==(const Unit&) const = default;
};

struct Run {
  int microbatches = 0;  // the most of any step
  Source source = Source::trained;
  std::optional<std::uint64_t> seed = std::nullopt;  // the random draws' seed
  Unit unit = {};
  std::string costs = {};  // for people: where costs and jitter come from
  // The program's parameters (`ranks` 4) and its dispatch, as --dispatch takes it (`in order
  // one_f_one_b`), if the run had the program's text. Empty: not known.
  std::map<std::string, std::int64_t> params = {};
  std::string dispatch = {};
  bool operator==(const Run&) const = default;
};

// The identity of one rank's file (trace/parts.h): its rank, and a number that all ranks of its run
// have agreed on.
struct Part {
  int rank = 0;
  std::uint64_t run = 0;
  bool operator==(const Part&) const = default;
};

class About {
 public:
  About() = default;
  About(const core::ProgramFacts& facts, Run what) : run(std::move(what)), owned_(facts) {}

  [[nodiscard]] const core::ProgramFacts& facts() const { return owned_.facts(); }

  // For people: `run 00000000000004d2 of program bf, hash 0123456789abcdef`.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] std::string to_json() const;
  // Replaces `about`; fails by status with what is missing or does not fit together.
  static core::Status from_json(const std::string& text, About& about);

  Run run;
  std::optional<Part> part = std::nullopt;  // nothing: the file of all ranks

 private:
  core::OwnedFacts owned_;
};

}  // namespace ripeline::trace
