// include_scan: the direction of includes between folders, as a table and a scan of `#include`
// lines; and that a file's namespace says in which folder it is.
//
// The build cannot keep it: Boost, Z3 and the tree's own folders are all on the include path. Pure
// functions over text; the caller reads the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ripeline::include_scan {

// One forbidden line. Prints as `file:line: "x.h" breaks the rule of FOLDER: …`.
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

// Every include of `text` that the row of the table for `file` (a path from the tree's root) does
// not allow. A file without a row breaks the rule at its first include.
[[nodiscard]] std::vector<Violation> scan(std::string_view file, std::string_view text);

// The mistakes in the namespaces that `text` opens, as `FILE: …`. A file's namespace is the path
// of its folder under `ripeline::`, or that of a folder above it, or one inside these that is no
// other folder's; it is written in full. A block that only declares classes may be in any, and
// tests and programs beside the tool choose theirs.
[[nodiscard]] std::vector<std::string> scan_namespaces(std::string_view file,
                                                       std::string_view text);

}  // namespace ripeline::include_scan
