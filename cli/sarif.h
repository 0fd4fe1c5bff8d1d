// Findings of `ripeline verify` as a SARIF 2.1.0 log, which code hosts show beside the source.
//
// One run. Rules: the five obligations, and of bad input the ids that occur. A refuted obligation
// is an error, an unknown one a warning, bad input an error; a proved one is no finding. Nothing in
// it depends on time or machine. Columns count characters, as SARIF wants, not bytes.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/input.h"
#include "verify/verify.h"

namespace ripeline::cli {

class SarifLog {
 public:
  SarifLog();

  // `file` as the user gave it; `source` is nothing if it could not be read.
  void add_bad_input(const std::string& file, const std::optional<spec::Source>& source,
                     const spec::Diagnostics& errors);
  void add_verdict(const std::string& file, const LoadedProgram& loaded,
                   const verify::Verdict& verdict);

  [[nodiscard]] nlohmann::json log(int exit_code) const;

 private:
  std::size_t rule(const std::string& id, const std::string& description);
  void add_result(const std::string& id, std::size_t rule_index, const char* level,
                  const std::string& message, nlohmann::json location, const std::string& program);

  nlohmann::json rules_ = nlohmann::json::array();
  nlohmann::json results_ = nlohmann::json::array();
  nlohmann::json programs_ = nlohmann::json::array();  // all that were judged, also the proved
};

}  // namespace ripeline::cli
