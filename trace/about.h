// About: a trace's data about its run, so that a reader needs only the file.
//
// It owns a copy of the program's facts. Movable; immutable except `run` and `part`. to_json and
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

// The source of the times.
enum class Source : std::uint8_t { simulated, emulated, trained };
[[nodiscard]] const char* name_of(Source source);

// The unit of costs: the name of a duration of 1, and its length on the trace's clock.
struct Unit {
  std::string name = "ms";
  std::int64_t nanoseconds = 1'000'000;
  bool operator==(const Unit&) const = default;
};

struct RunInfo {
  int microbatches = 0;  // the largest count of any step
  Source source = Source::trained;
  std::optional<std::uint64_t> seed = std::nullopt;  // the seed of random draws
  Unit unit = {};
  std::string costs = {};  // for people: the sources of costs and jitter
  // The program's parameters (`ranks` 4) and its dispatch, as --dispatch takes it (`in order
  // one_f_one_b`), if the run had the program's text. Empty if not known.
  std::map<std::string, std::int64_t> params = {};
  std::string dispatch = {};
  bool operator==(const RunInfo&) const = default;
};

// The identity of one rank's file (trace/parts.h): its rank, and a number on which all ranks of its
// run have agreed.
struct Part {
  int rank = 0;
  std::uint64_t run = 0;
  bool operator==(const Part&) const = default;
};

class About {
 public:
  About() = default;
  About(const core::ProgramFacts& facts, RunInfo what) : run(std::move(what)), owned_(facts) {}

  [[nodiscard]] const core::ProgramFacts& facts() const { return owned_.facts(); }

  // A text for people, such as `run 00000000000004d2 of program bf, hash 0123456789abcdef`.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] std::string to_json() const;
  // A failure tells what is missing or inconsistent.
  static core::StatusOr<About> from_json(const std::string& text);

  RunInfo run;
  std::optional<Part> part = std::nullopt;  // nullopt in the file of all ranks

 private:
  core::OwnedFacts owned_;
};

}  // namespace ripeline::trace
