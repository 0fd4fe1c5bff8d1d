// Changes between two files of records: which fields of which programs differ.
//
// A field is named by its path, memory.peak.activation; a list is one field. A program that only
// one file has is one change. Pure functions, but read_records().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "spec/diagnostics.h"

namespace ripeline::compare {

using Records = std::vector<nlohmann::ordered_json>;  // each with its `id`, no two the same

// Errors: not a list of objects with an id each.
[[nodiscard]] spec::Result<Records> read_records(const std::string& path);

struct FieldChange {
  std::string field;
  std::string before;  // as short as its difference allows
  std::string after;
};
struct ProgramChanges {
  std::string id;
  std::vector<FieldChange> fields;  // at least one
};
// In the order of `before`; then what only `after` has.
[[nodiscard]] std::vector<ProgramChanges> changes_between(const Records& before,
                                                          const Records& after);

// Each program with its fields, then how often each field differs.
[[nodiscard]] std::string changes_text(const std::vector<ProgramChanges>& changes);

}  // namespace ripeline::compare
