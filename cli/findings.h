// Findings: collects the verdicts on all inputs of `verify` and `check`, which are files and
// folders, and prints them in the requested format.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "cli/failure.h"
#include "load/folder.h"
#include "verify/findings.h"

namespace ripeline::cli {

enum class Format : std::uint8_t { text, json, sarif };
void add_findings_format(CLI::App& command, Format& format);

// True if exactly one input was named and that input is not a folder.
[[nodiscard]] bool is_one_file(const std::vector<std::string>& files);

class Findings {
 public:
  Findings(verify::Inputs inputs, Format format)
      : inputs_(inputs), format_(format), sarif_(inputs) {}

  [[nodiscard]] Format format() const { return format_; }
  // True if no input was added yet.
  [[nodiscard]] bool empty() const;
  // Calls `judge` for each named file, and for each file below a named folder.
  void judge_all(const std::vector<std::string>& files,
                 const std::function<void(const std::string&)>& judge);

  // `source` is null if the file could not be read. The errors are not printed.
  void add_bad_input(const std::string& file, const spec::Source* source,
                     const spec::Diagnostics& errors);
  // Adds the exit code of an input that was judged. For JSON, add_document() adds the document.
  void add(int exit_code);
  void add_document(const std::string& file, nlohmann::json document);
  [[nodiscard]] verify::SarifLog& sarif() { return sarif_; }

  // Prints the documents as JSON, or the SARIF log. In text form, prints a summary with `note` if
  // there were several inputs. Returns the exit code, which is at least as bad as `least`.
  int finish(const std::string& note = "", int least = ok) const;

 private:
  [[nodiscard]] std::string summary() const;

  const verify::Inputs inputs_;
  const Format format_;
  bool one_ = false;             // exactly one file was named
  int code_ = ok;                // the worst of the exit codes that were added
  std::array<int, 4> counts_{};  // the number of inputs by exit code
  nlohmann::json documents_ = nlohmann::json::array();
  verify::SarifLog sarif_;
  std::vector<load::Skipped> skipped_;
};

}  // namespace ripeline::cli
