#include "tests/compare/record_changes.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace ripeline::compare {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<std::pair<std::string, std::string>>;  // path and value

constexpr const char* kAbsent = "(absent)";

void add_fields(const std::string& path, const Json& value, Fields& fields) {
  if (!value.is_object()) {
    fields.emplace_back(path, value.is_string() ? value.get<std::string>() : value.dump());
    return;
  }
  for (const auto& [name, part] : value.items()) {
    add_fields(path.empty() ? name : path + "." + name, part, fields);
  }
}

Fields fields_of(const Json& record) {
  Fields fields;
  add_fields("", record, fields);
  return fields;
}

const std::string* find(const Fields& fields, const std::string& path) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.first == path; });
  return found == fields.end() ? nullptr : &found->second;
}

// If the texts are long, removes the words with which both begin, and those with which both end.
void shorten(std::string& a, std::string& b) {
  constexpr std::size_t kShort = 40;
  if (std::max(a.size(), b.size()) <= kShort) return;
  const std::size_t least = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same < least && a[same] == b[same]) ++same;
  const std::size_t head = same == 0 ? a.npos : a.rfind(' ', same - 1);
  const std::size_t begin = head == a.npos ? 0 : head + 1;
  same = 0;
  while (same < least - begin && a[a.size() - 1 - same] == b[b.size() - 1 - same]) ++same;
  const std::size_t tail = a.find(' ', a.size() - same);
  const std::size_t end = tail == a.npos ? 0 : a.size() - tail;  // counted from the end
  for (std::string* text : {&a, &b}) {
    *text = (begin > 0 ? "… " : "") + text->substr(begin, text->size() - end - begin) +
            (end > 0 ? " …" : "");
  }
}

FieldChange change(const std::string& field, std::string before, std::string after) {
  shorten(before, after);
  return {field, std::move(before), std::move(after)};
}

std::vector<FieldChange> fields_between(const Json& before, const Json& after) {
  const Fields old_fields = fields_of(before);
  const Fields new_fields = fields_of(after);
  std::vector<FieldChange> changes;
  for (const auto& [path, value] : old_fields) {
    const std::string* now = find(new_fields, path);
    if (now == nullptr) {
      changes.push_back({path, value, kAbsent});
    } else if (*now != value) {
      changes.push_back(change(path, value, *now));
    }
  }
  for (const auto& [path, value] : new_fields) {
    if (find(old_fields, path) == nullptr) changes.push_back({path, kAbsent, value});
  }
  return changes;
}

spec::Diagnostic not_records(const std::string& path, const std::string& why) {
  return {.id = "records", .message = path + " " + why, .hint = {}, .span = {}};
}

}  // namespace

spec::Result<Records> read_records(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_records(path, "cannot be read");
  const Json json = Json::parse(file, nullptr, false);
  if (!json.is_array()) return not_records(path, "is no file of verdicts: not a JSON list");
  std::set<std::string> ids;
  for (const Json& record : json) {
    if (!record.is_object() || !record.contains("id") || !record["id"].is_string()) {
      return not_records(path, "is no file of verdicts: an entry has no id");
    }
    if (!ids.insert(record["id"]).second) {
      return not_records(path, "has two entries called " + record["id"].get<std::string>());
    }
  }
  return json.get<Records>();
}

std::vector<ProgramChanges> changes_between(const Records& before, const Records& after) {
  std::map<std::string, const Json*> rest;  // the records of `after`, by id
  for (const Json& record : after) rest[record["id"]] = &record;
  std::vector<ProgramChanges> changes;
  for (const Json& record : before) {
    const auto same = rest.find(record["id"]);
    if (same == rest.end()) {
      changes.push_back({record["id"], {{"id", "present", kAbsent}}});
      continue;
    }
    std::vector<FieldChange> fields = fields_between(record, *same->second);
    if (!fields.empty()) changes.push_back({record["id"], std::move(fields)});
    rest.erase(same);
  }
  for (const Json& record : after) {
    if (rest.count(record["id"]) == 0) continue;
    changes.push_back({record["id"], {{"id", kAbsent, "present"}}});
  }
  return changes;
}

std::string changes_text(const std::vector<ProgramChanges>& changes) {
  std::string text;
  std::map<std::string, int> counts;
  for (const ProgramChanges& program : changes) {
    text += program.id + "\n";
    for (const FieldChange& c : program.fields) {
      text += fmt::format("  {}: {} -> {}\n", c.field, c.before, c.after);
      ++counts[c.field];
    }
  }
  for (const auto& [field, count] : counts) text += fmt::format("{:>8}  {}\n", count, field);
  return text;
}

}  // namespace ripeline::compare
