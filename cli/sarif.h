// Findings of `ripeline verify` and `ripeline check` as a SARIF 2.1.0 log, which code hosts show
// beside the source.
//
// One run. Rules: of programs the five obligations, of schedules those of pytorch/check.h that
// found something, and of bad input and warnings the ids that occur. A refuted obligation and a
// finding are an error, what is unknown is a warning, bad input an error; what is proved is no
// finding. Nothing in
// it depends on time or machine. Columns count characters, as SARIF wants, not bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/input.h"
#include "pytorch/check.h"
#include "verify/verify.h"

namespace ripeline::cli {

// `[{"file":…,"reason":…}]`, of every --format for machines.
[[nodiscard]] nlohmann::json skipped_json(const std::vector<load::Skipped>& skipped);

class SarifLog {
 public:
  enum class Of : std::uint8_t { programs, schedules };
  explicit SarifLog(Of of);

  // `file` as the user gave it; `source` is nothing if it could not be read.
  void add_bad_input(const std::string& file, const std::optional<spec::Source>& source,
                     const spec::Diagnostics& errors);
  void add_verdict(const std::string& file, const load::LoadedProgram& loaded,
                   const verify::Verdict& verdict);
  // The warnings are those of spec/lint.h.
  void add_warnings(const std::string& file, const load::LoadedProgram& loaded,
                    const spec::Diagnostics& warnings);
  // At the cell of each finding, or at its row.
  void add_check(const std::string& file, const spec::Source& source,
                 const pytorch::CheckReport& report);

  // `skipped`: of the folders that were asked for.
  [[nodiscard]] nlohmann::json log(int exit_code, const std::vector<load::Skipped>& skipped) const;

 private:
  std::size_t rule(const std::string& id, const std::string& description,
                   const char* level = "error");
  void add_result(const std::string& id, std::size_t rule_index, const char* level,
                  const std::string& message, nlohmann::json location, const std::string& program);

  nlohmann::json rules_ = nlohmann::json::array();
  nlohmann::json results_ = nlohmann::json::array();
  nlohmann::json programs_ = nlohmann::json::array();  // all that were judged, also the proved
};

}  // namespace ripeline::cli
