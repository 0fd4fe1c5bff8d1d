// Finds the changes between two files of records: which fields of which programs differ.
//
// A field is named by its path, such as memory.peak.activation; a list is one field. A program that
// only one file has is one change. Pure functions, except read_records().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "spec/diagnostics.h"

namespace ripeline::compare {

using Records = std::vector<nlohmann::ordered_json>;  // each with its `id`, no two the same

// Fails if the file is not a list of objects that each have an id.
[[nodiscard]] spec::Result<Records> read_records(const std::string& path);

struct FieldChange {
  std::string field;
  std::string before;  // shortened to the part that differs
  std::string after;
};
struct ProgramChanges {
  std::string id;
  std::vector<FieldChange> fields;  // at least one
};
// Changes in the order of `before`, then the programs that only `after` has.
[[nodiscard]] std::vector<ProgramChanges> changes_between(const Records& before,
                                                          const Records& after);

// The text lists each program with its fields, then how often each field differs.
[[nodiscard]] std::string changes_text(const std::vector<ProgramChanges>& changes);

}  // namespace ripeline::compare
