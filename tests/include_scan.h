// include_scan scans a file's `#include` lines, and checks by a table which folders the file
// includes. It also checks that the file's namespace is that of its folder.
//
// The build cannot check this, since Boost, Z3 and the tree's own folders are all on the include
// path. Pure functions of text; the caller reads the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ripeline::include_scan {

// An include that breaks a rule. Prints as `file:line: "x.h" breaks the rule of FOLDER: …`.
struct Violation {
  std::string file;
  int line;
  std::string included;
  std::string rule;
  bool operator==(const Violation&) const = default;
};

[[nodiscard]] std::string to_string(const Violation& violation);

// The kind of the header `<name>`: "std", "posix", "boost", "z3", "torch", "asio", "fmt", "json",
// "cli11", "gtest", "rapidcheck", "benchmark", "ucx", or else "unknown", which no rule allows.
[[nodiscard]] std::string_view library_of(std::string_view name);

// All includes in `text` that the table's row for `file` does not allow; `file` is a path from the
// tree's root. A file without a row breaks the rule at its first include.
[[nodiscard]] std::vector<Violation> scan(std::string_view file, std::string_view text);

// The mistakes in the namespaces that `text` opens, as `FILE: …`. A file's namespace is the path of
// its folder under `ripeline::`, or the path of a parent folder, or a namespace inside these that
// belongs to no other folder. The full name must be written. A block that only declares classes may
// be in any namespace, and so may tests and programs beside the tool.
[[nodiscard]] std::vector<std::string> scan_namespaces(std::string_view file,
                                                       std::string_view text);

}  // namespace ripeline::include_scan
