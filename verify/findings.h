// Findings in several inputs, programs or schedules of PyTorch: the JSON documents that
// `ripeline verify` and `ripeline check` share, and a SARIF 2.1.0 log, which code hosts show beside
// the source.
//
// The log has one run. Its rules are the five obligations for programs, or the violated rules of
// pytorch/check.h for schedules, and also the ids of the bad input and the warnings that occur.
// A refuted obligation, a finding and bad input are errors; an unknown obligation is a warning; a
// proved one is not listed. The log does not depend on time or machine, except on whether a file
// exists. Columns count characters, as SARIF demands, not bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "verify/verify.h"

namespace ripeline::verify {

enum class Inputs : std::uint8_t { programs, schedules };

// The errors or warnings as JSON. `source` gives the lines of diagnostics that are not about an
// option; it is null if there is no text.
[[nodiscard]] nlohmann::json diagnostics_json(const spec::Source* source,
                                              const spec::Diagnostics& diagnostics);
// The document of an input that could not be judged.
[[nodiscard]] nlohmann::json bad_input_json(Inputs inputs, const std::string& file,
                                            const spec::Source* source,
                                            const spec::Diagnostics& errors);
// The document of several inputs. `skipped` lists files in folders, as `[{"file":…,"reason":…}]`.
[[nodiscard]] nlohmann::json list_json(Inputs inputs, const nlohmann::json& documents,
                                       const nlohmann::json& skipped);

struct SarifFinding {
  std::string id;
  std::string rule = {};  // describes the id, if it is a new one
  const char* level = "error";
  std::string message;
  spec::Span span = {};      // if not empty, a region of the source
  std::string program = {};  // its name; empty for a schedule
};

// `file` is the name that the user gave; `source` is null if the file could not be read.
class SarifLog {
 public:
  explicit SarifLog(Inputs inputs);

  void add_bad_input(const std::string& file, const spec::Source* source,
                     const spec::Diagnostics& errors);
  void add_verdict(const std::string& file, const spec::Source& source,
                   const spec::Program& program, const Verdict& verdict);
  // The warnings are those of spec/lint.h.
  void add_warnings(const std::string& file, const spec::Source& source,
                    const spec::Program& program, const spec::Diagnostics& warnings);
  // add_input() adds an input that was judged elsewhere; add() then adds a finding in that input.
  void add_input(const std::string& file, std::uint64_t hash, Outcome verdict);
  void add(const std::string& file, const spec::Source* source, const SarifFinding& finding);

  // `tool` is the version of Ripeline.
  [[nodiscard]] nlohmann::json log(const std::string& tool, int exit_code,
                                   const nlohmann::json& skipped) const;

 private:
  std::size_t rule(const std::string& id, const std::string& description, const char* level);

  nlohmann::json rules_ = nlohmann::json::array();
  nlohmann::json results_ = nlohmann::json::array();
  nlohmann::json inputs_ = nlohmann::json::array();  // all that were judged, including those proved
};

}  // namespace ripeline::verify
