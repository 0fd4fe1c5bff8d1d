#include "tests/include_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <utility>

namespace ripeline::include_scan {
namespace {

using Names = std::vector<std::string_view>;

// A row of the table: the includes that files under `path` may have. If several rows apply to a
// file, only the row with the longest path counts.
struct Row {
  // A folder with a slash at its end, a file without its suffix, or a file with its suffix.
  std::string_view path;
  Names project;  // prefixes of the tree's own headers; "" is a header without a folder, generated
                  // or in the file's own folder
  Names libraries;
  Names never = {};  // prefixes of names that are forbidden nevertheless
};

// The core is a state machine, so it must not have threads, locks or files.
const Names kOfTheWorld = {"thread",   "mutex",   "condition_variable", "future", "stop_token",
                           "iostream", "fstream", "filesystem"};
const Names kTorchSide = {"runtime/torch/"};
const Names kRuntimeVocabulary = {"runtime/blob_io.h",
                                  "runtime/clock.h",
                                  "runtime/configuration.h",
                                  "runtime/duration.h",
                                  "runtime/engine.h",
                                  "runtime/exit_code.h",
                                  "runtime/payload.h",
                                  "runtime/termination.h",
                                  "runtime/transport.h",
                                  "runtime/work.h",
                                  "core/"};
const Names kAllFolders = {"core/",    "spec/",      "verify/",  "certificates/", "wire/",
                           "pytorch/", "lower/",     "codegen/", "simulate/",     "validate/",
                           "view/",    "trace/",     "files/",   "process/",      "optimise/",
                           "load/",    "runtime/",   "emulate/", "cli/",          "python/",
                           "tests/",   "proptests/", "bench/",   "examples/",     ""};
// The headers that callers of the judge see.
const Names kRootOfVerify = {"verify/verify.h",
                             "verify/verdict.h",
                             "verify/obligation.h",
                             "verify/proved_program.h",
                             "verify/every_depth.h",
                             "verify/report.h",
                             "spec/",
                             "core/vocabulary/"};
// Folders whose files choose their namespaces: a test is in the namespace of the tested code.
const Names kFreeNamespaces = {"tests/", "proptests/", "bench/", "fuzz/",
                               "demo/",  "examples/",  "docs/",  "cmake/"};
const Names kTestLibraries = {"std", "posix", "fmt", "json", "gtest", "rapidcheck", "benchmark"};
const Names kTorchTestLibraries = {"std", "posix", "json", "gtest", "rapidcheck", "torch"};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"core/", {"core/"}, {"std"}, kOfTheWorld},
      {"core/vocabulary/", {"core/vocabulary/"}, {"std"}, kOfTheWorld},
      {"files/", {"files/", "core/"}, {"std", "posix"}},
      {"process/", {"process/"}, {"std", "posix", "fmt"}},
      {"trace/", {"trace/", "files/", "core/"}, {"std"}},
      {"trace/about", {"trace/", "core/"}, {"std", "json"}},
      {"trace/read", {"trace/", "files/", "core/"}, {"std", "json"}},
      {"trace/torch_events", {"trace/", "core/"}, {"std", "json"}},
      {"pytorch/csv/", {"pytorch/csv/"}, {"std", "fmt"}},
      // Programs and executors use the same vocabulary.
      {"spec/", {"spec/", "pytorch/csv/", "core/vocabulary/"}, {"std", "fmt"}},
      {"spec/parse", {"spec/"}, {"std", "fmt", "boost"}},
      {"spec/library", {"spec/", "library_texts.inc"}, {"std"}},
      // The headers for callers of the judge include nothing from its folders.
      {"verify/", kRootOfVerify, {"std"}},
      {"verify/report", kRootOfVerify, {"std", "fmt", "json"}},
      {"verify/findings",
       {"verify/findings.h", "verify/report.h", "verify/verify.h", "spec/"},
       {"std", "fmt", "json"}},
      {"verify/verdict.cpp", {"verify/verdict.h", "verify/solver/solver.h"}, {"std"}},
      {"verify/verify.cpp", {"verify/", "spec/"}, {"std"}},
      {"verify/every_depth.cpp", {"verify/every_depth.h", "verify/depth/depth.h"}, {"std"}},
      {"verify/solver/", {"verify/solver/", "spec/"}, {"std", "fmt"}},
      {"verify/solver/solver", {"verify/solver/", "spec/long_work.h"}, {"std", "z3"}},
      {"verify/judge/", {"verify/", "spec/"}, {"std", "fmt"}},
      {"verify/states/",
       {"verify/states/", "verify/verdict.h", "spec/", "core/vocabulary/"},
       {"std", "fmt"}},
      {"verify/ready/", {"verify/", "spec/"}, {"std", "fmt"}},
      {"verify/order/", {"verify/", "spec/"}, {"std", "fmt"}},
      {"verify/group/", {"verify/", "spec/"}, {"std", "fmt"}},
      {"verify/depth/", {"verify/", "spec/"}, {"std", "fmt"}},
      {"certificates/", {"certificates/", "verify/", "spec/"}, {"std", "fmt"}},
      {"certificates/folder", {"certificates/", "spec/", "files/"}, {"std", "fmt"}},
      {"certificates/solver_program",
       {"certificates/", "files/", "process/"},
       {"std", "posix", "fmt"}},
      {"certificates/certificate", {"certificates/", "verify/", "spec/"}, {"std", "fmt", "json"}},
      {"certificates/recheck",
       {"certificates/", "verify/", "spec/", "core/vocabulary/"},
       {"std", "fmt", "json"}},
      {"certificates/recheck_report",
       {"certificates/recheck_report.h", "certificates/recheck.h"},
       {"std", "fmt", "json"}},
      // This part of the re-checker includes nothing of the code whose results it checks.
      {"certificates/recheck_graph", {"certificates/recheck_graph.h"}, {"std"}},
      {"certificates/recheck_replay",
       {"certificates/recheck_replay.h", "certificates/evidence.h", "verify/judge/bounds.h",
        "spec/"},
       {"std", "fmt"}},
      {"certificates/sha256", {"certificates/sha256.h"}, {"std", "openssl"}},
      {"wire/", {"wire/", "verify/", "spec/", "core/vocabulary/"}, {"std", "fmt"}},
      {"wire/report", {"wire/", "verify/", "spec/", "core/vocabulary/"}, {"std", "fmt", "json"}},
      {"pytorch/", {"pytorch/", "wire/", "verify/", "spec/", "core/vocabulary/"}, {"std", "fmt"}},
      {"pytorch/check_report",
       {"pytorch/", "wire/", "verify/", "spec/", "core/vocabulary/"},
       {"std", "fmt", "json"}},
      {"lower/", {"lower/", "spec/", "verify/proved_program.h", "core/"}, {"std"}},
      {"codegen/",
       {"codegen/", "lower/", "spec/", "verify/proved_program.h", "core/facts.h",
        "core/vocabulary/"},
       {"std", "fmt"}},
      {"codegen/generate",
       {"codegen/", "lower/", "spec/", "verify/proved_program.h", "runtime/training/train_rules.h",
        "core/facts.h", "core/vocabulary/"},
       {"std", "fmt"}},
      {"simulate/",
       {"simulate/", "lower/", "spec/", "verify/", "core/", "trace/"},
       {"std", "fmt", "json"}},
      {"validate/probe/", {"validate/probe/", "core/"}, {"std"}},
      {"validate/",
       {"validate/", "simulate/", "lower/", "spec/", "core/", "trace/"},
       {"std", "fmt"}},
      {"validate/run_report",
       {"validate/run_check.h", "validate/run_report.h", "spec/", "trace/"},
       {"std", "fmt", "json"}},
      {"optimise/",
       {"optimise/", "simulate/", "lower/", "pytorch/", "verify/", "spec/", "core/", "trace/"},
       {"std", "fmt"}},
      {"optimise/least",
       {"optimise/least.h", "optimise/least_capacity.h", "wire/", "verify/verify.h", "spec/"},
       {"std", "fmt", "json"}},
      {"optimise/memory_curve_report",
       {"optimise/memory_curve.h", "optimise/memory_curve_report.h", "view/trade.h"},
       {"std", "fmt", "json"}},
      {"optimise/search_report",
       {"optimise/", "simulate/report.h", "spec/", "core/vocabulary/"},
       {"std", "fmt", "json"}},
      {"optimise/best_order",
       {"optimise/", "simulate/report.h", "pytorch/export.h", "spec/"},
       {"std", "fmt", "json"}},
      {"optimise/racing/race_report",
       {"optimise/racing/", "verify/verify.h", "spec/"},
       {"std", "fmt", "json"}},
      {"optimise/racing/gain",
       {"optimise/racing/gain.h", "optimise/search/random.h"},
       {"std", "fmt", "boost"}},
      // Solvers use a model, and nothing else in the tree.
      {"optimise/solver/",
       {"optimise/solver/", "optimise/model.h", "optimise/uniform.h", "spec/indexing.h"},
       {"std", "fmt"}},
      {"optimise/solver/solver",
       {"optimise/solver/", "optimise/model.h", "optimise/uniform.h", "process/"},
       {"std", "posix", "fmt"}},
      {"optimise/solver/cp_message",
       {"optimise/solver/cp_message.h", "optimise/solver/cp_model.h"},
       {"std", "protozero"}},
      {"optimise/solver/solver_main", {"optimise/solver/frames.h"}, {"std", "posix"}},
      {"load/",
       {"load/", "optimise/racing/gain.h", "view/", "simulate/", "pytorch/", "verify/", "lower/",
        "spec/", "files/", "trace/", "core/"},
       {"std", "fmt"}},
      {"load/folder", {"load/", "spec/"}, {"std", "fmt", "json"}},
      {"load/document", {"load/"}, {"std", "json"}},
      {"load/judged",
       {"load/", "optimise/repair.h", "pytorch/program.h", "verify/", "spec/long_work.h"},
       {"std", "fmt", "json"}},
      {"load/search", {"load/", "optimise/", "spec/"}, {"std", "fmt"}},
      {"view/", {"view/", "core/", "trace/"}, {"std", "fmt", "json"}},
      {"view/pdf", {"view/pdf.h", "process/child.h", "core/status.h"}, {"std", "fmt"}},
      {"view/html", {"view/", "core/", "trace/", "page.inc"}, {"std", "fmt"}},
      {"runtime/",
       {"runtime/", "core/", "files/", "trace/"},
       {"std", "posix"},
       {"runtime/launcher/", "runtime/torch/", "runtime/cuda/"}},
      // The runtime's vocabulary includes nothing from the runtime's folders.
      {"runtime/blob_io", kRuntimeVocabulary, {"std"}},
      {"runtime/clock", kRuntimeVocabulary, {"std"}},
      {"runtime/configuration", kRuntimeVocabulary, {"std"}},
      {"runtime/duration", kRuntimeVocabulary, {"std"}},
      {"runtime/engine.h", kRuntimeVocabulary, {"std"}},
      {"runtime/exit_code", kRuntimeVocabulary, {"std"}},
      {"runtime/payload", kRuntimeVocabulary, {"std"}},
      {"runtime/termination", kRuntimeVocabulary, {"std", "posix"}},
      {"runtime/transport", kRuntimeVocabulary, {"std"}},
      {"runtime/work", kRuntimeVocabulary, {"std"}},
      {"runtime/protocol/",
       {"runtime/protocol/", "runtime/blob_io.h", "runtime/duration.h", "runtime/engine.h",
        "runtime/payload.h", "runtime/transport.h", "runtime/work.h", "core/", "trace/record.h"},
       {"std"},
       kOfTheWorld},
      {"runtime/watchdog/",
       {"runtime/watchdog/", "runtime/clock.h", "runtime/duration.h", "runtime/exit_code.h"},
       {"std", "posix"}},
      {"runtime/training/", {"runtime/training/", "core/"}, {"std"}},
      {"runtime/training/heap", {"runtime/training/heap.h"}, {"std", "posix"}},
      {"runtime/network/",
       {"runtime/network/", "runtime/protocol/neighbours.h", "runtime/protocol/tree.h",
        "runtime/blob_io.h", "runtime/configuration.h", "runtime/duration.h", "runtime/payload.h",
        "runtime/termination.h", "runtime/transport.h", "core/"},
       {"std", "posix", "asio"}},
      {"runtime/network/ucx_worker",
       {"runtime/network/ucx_worker.h", "runtime/network/frame.h", "core/"},
       {"std", "ucx"}},
      {"runtime/launcher/",
       {"runtime/launcher/", "runtime/network/folder_store.h", "runtime/exit_code.h", "core/"},
       {"std", "posix"}},
      {"runtime/cuda/",
       {"runtime/cuda/", "runtime/watchdog/", "runtime/clock.h", "runtime/engine.h",
        "runtime/payload.h", "core/"},
       {"std", "cuda"},
       {"runtime/cuda/carriers/", "runtime/cuda/nccl/"}},
      {"runtime/cuda/nccl/",
       {"runtime/cuda/", "runtime/watchdog/", "core/"},
       {"std", "cuda"},
       {"runtime/cuda/carriers/"}},
      {"runtime/cuda/nccl/load_nccl", {"runtime/cuda/nccl/"}, {"std", "posix"}},
      {"runtime/cuda/nccl/plugin", {"runtime/cuda/nccl/", "core/"}, {"std", "nccl"}},
      {"runtime/cuda/carriers/",
       {"runtime/cuda/", "runtime/network/peers.h", "runtime/network/buffer_pool.h",
        "runtime/network/system_name.h", "runtime/protocol/carrier_messages.h", "runtime/watchdog/",
        "runtime/clock.h", "runtime/payload.h", "runtime/termination.h", "runtime/transport.h",
        "core/"},
       {"std", "cuda"}},
      {"runtime/torch/",
       {"runtime/", "core/", "trace/"},
       {"std", "posix", "torch"},
       {"runtime/launcher/"}},
      // A fuzz target reads value heads without LibTorch.
      {"runtime/value_head",
       {"runtime/value_head.h", "runtime/blob_io.h", "runtime/payload.h", "core/"},
       {"std"}},
      {"emulate/", {"emulate/", "simulate/", "runtime/", "core/", "trace/"}, {"std"}, kTorchSide},
      {"emulate/report",
       {"emulate/", "simulate/report.h", "core/vocabulary/"},
       {"std", "fmt", "json"}},
      {"cli/",
       {"cli/", "core/", "spec/", "verify/", "certificates/", "wire/", "pytorch/", "lower/",
        "codegen/", "simulate/", "validate/", "optimise/", "load/", "view/", "runtime/", "emulate/",
        "files/", "process/", "trace/"},
       {"std", "posix", "fmt", "json", "cli11"},
       kTorchSide},
      {"python/",
       {"python/", "load/", "optimise/", "view/", "simulate/", "pytorch/", "verify/", "lower/",
        "spec/", "files/", "trace/", "core/"},
       {"std", "json"}},
      {"python/worker",
       {"python/", "runtime/", "simulate/", "verify/", "lower/", "spec/", "core/"},
       {"std"},
       kTorchSide},
      // Only these files know Python.
      {"python/bound", {"python/"}, {"std", "nanobind"}},
      {"python/module", {"python/"}, {"std", "nanobind"}},
      {"python/worker_module",
       {"python/", "runtime/value_head.h", "runtime/network/store.h"},
       {"std", "nanobind"}},
      // These sources are linked into the programs, so that the programs run on other machines.
      {"cmake/", {}, {"std", "posix"}},
      {"cli/launch_main",
       {"cli/launch_options.h", "core/", "runtime/"},
       {"std", "posix", "cli11"},
       kTorchSide},
      {"tests/", kAllFolders, kTestLibraries, kTorchSide},
      {"tests/oracle/", {"tests/oracle/", "spec/program.h", "core/vocabulary/"}, {"std"}},
      {"tests/cuda/", kAllFolders, {"std", "posix", "cuda", "gtest"}, kTorchSide},
      {"tests/fake_gpu/", kAllFolders, {"std", "cuda", "nccl", "gtest"}, kTorchSide},
      {"tests/nccl/", kAllFolders, {"std", "cuda", "nccl", "gtest"}, kTorchSide},
      {"tests/torch/", kAllFolders, kTorchTestLibraries},
      {"tests/torch_device/", kAllFolders, {"std", "cuda", "gtest", "torch"}},
      {"tests/install/", {"core/", "runtime/", "trace/", ""}, {"std", "posix", "torch"}},
      {"proptests/", kAllFolders, kTestLibraries, kTorchSide},
      {"proptests/torch/", kAllFolders, kTorchTestLibraries},
      {"bench/torch/", kAllFolders, {"std", "posix", "torch"}},
      {"bench/cuda/", kAllFolders, {"std", "posix", "cuda"}},
      {"fuzz/",
       {"spec/", "pytorch/csv/", "core/", "runtime/", "simulate/", "trace/"},
       {"std", "posix", "asio"}},
      {"bench/", kAllFolders, {"std", "posix", "fmt", "json", "benchmark", "cli11"}},
      {"examples/",
       {"core/", "files/", "runtime/", "trace/", ""},
       {"std", "posix", "torch", "cli11", "png"}},
      {"docs/", {"core/", "runtime/", "trace/", ""}, {"std", "posix", "torch"}},
  };
  return kRows;
}

// A namespace that a file may open although it belongs to another folder.
struct Opened {
  std::string_view file;
  std::string_view name;
};
constexpr std::array kOpened = {
    // Every folder uses the functions of these files without qualifying their names.
    Opened{"core/vocabulary/index.h", "ripeline"},
    Opened{"core/vocabulary/plural.h", "ripeline"},
    Opened{"spec/indexing.h", "ripeline"},
    // The namespace is nested in the folder's namespace, and one block opens both.
    Opened{"runtime/transport.h", "signals"},
    // This file specialises a template of the library.
    Opened{"spec/parse.cpp", "boost::spirit::x3"},
};

struct Prefixed {
  std::string_view prefix;
  std::string_view library;
};

// Prefixes of headers with a folder or `.h`; a header such as <vector> is of the standard library.
constexpr std::array kLibraries = {
    Prefixed{"boost/", "boost"},
    Prefixed{"z3", "z3"},
    Prefixed{"torch/", "torch"},
    Prefixed{"ATen/", "torch"},
    Prefixed{"c10/", "torch"},
    Prefixed{"cuda", "cuda"},
    Prefixed{"nccl.h", "nccl"},
    Prefixed{"caffe2/", "torch"},
    Prefixed{"asio.hpp", "asio"},
    Prefixed{"asio/", "asio"},
    Prefixed{"fmt/", "fmt"},
    Prefixed{"openssl/", "openssl"},
    Prefixed{"nlohmann/", "json"},
    Prefixed{"CLI/", "cli11"},
    Prefixed{"png.h", "png"},
    Prefixed{"protozero/", "protozero"},
    Prefixed{"gtest/", "gtest"},
    Prefixed{"gmock/", "gtest"},
    Prefixed{"rapidcheck", "rapidcheck"},
    Prefixed{"benchmark/", "benchmark"},
    Prefixed{"nanobind/", "nanobind"},
    Prefixed{"ucp/", "ucx"},
    Prefixed{"uct/", "ucx"},
    Prefixed{"ucs/", "ucx"},
    Prefixed{"sys/", "posix"},
    Prefixed{"netinet/", "posix"},
    Prefixed{"arpa/", "posix"},
};
constexpr std::array<std::string_view, 18> kPosix = {
    "unistd.h",  "fcntl.h",  "poll.h",   "signal.h", "spawn.h", "netdb.h",
    "pthread.h", "sched.h",  "dlfcn.h",  "link.h",   "errno.h", "termios.h",
    "pwd.h",     "dirent.h", "syslog.h", "ftw.h",    "glob.h",  "malloc.h"};

bool starts_with_any(std::string_view text, const Names& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [text](std::string_view prefix) {
    return prefix.empty() ? text.find('/') == text.npos : text.starts_with(prefix);
  });
}

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether the row applies to the file. A path without suffix such as `spec/parse` applies to
// `spec/parse.cpp` and `spec/parse.h`, but not to `spec/parse_test.cpp`.
bool fits(const Row& row, std::string_view file) {
  if (!file.starts_with(row.path)) return false;
  return row.path.ends_with('/') || file == row.path ||
         file.substr(row.path.size()).starts_with('.');
}

const Row* row_of(std::string_view file) {
  const Row* best = nullptr;
  for (const Row& row : rows()) {
    if (fits(row, file) && (best == nullptr || row.path.size() > best->path.size())) best = &row;
  }
  return best;
}

// The included name, and whether it is in quotes. The name is empty if the line is no include.
std::pair<std::string_view, bool> parse_include(std::string_view line) {
  const auto skip_blanks = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip_blanks();
  if (!line.starts_with('"') && !line.starts_with('<')) return {};
  const bool quoted = line.front() == '"';
  line.remove_prefix(1);
  const std::size_t end = line.find(quoted ? '"' : '>');
  return end == line.npos ? std::pair<std::string_view, bool>{}
                          : std::pair{line.substr(0, end), quoted};
}

std::string join(const Names& names) {
  std::string text;
  for (std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name.empty() ? "a header without a folder" : name;
  }
  return text;
}

// The rule that the include breaks; nullopt if it breaks none.
std::optional<std::string> broken_rule(std::string_view file, std::string_view name, bool quoted) {
  const Row* row = row_of(file);
  if (row == nullptr) return "the table of tests/include_scan.cpp has no row for this file";
  const std::string here = "the rule of " + std::string(row->path) + ": ";
  if (quoted && !starts_with_any(name, row->project)) {
    return here + "of this tree it may include " + join(row->project);
  }
  if (!quoted && !contains(row->libraries, library_of(name))) {
    return here + "of libraries it may include " + join(row->libraries);
  }
  if (!row->never.empty() && starts_with_any(name, row->never))
    return here + "never " + join(row->never);
  return std::nullopt;
}

// The namespace of a folder, whose name ends with a slash.
std::string namespace_of(std::string_view folder) {
  std::string name = "ripeline";
  while (!folder.empty()) {
    const std::size_t slash = folder.find('/');
    name += "::" + std::string(folder.substr(0, slash));
    folder.remove_prefix(slash + 1);
  }
  return name;
}

// Whether the namespace is `outer` or a namespace inside it.
bool is_within(std::string_view name, std::string_view outer) {
  return name.starts_with(outer) &&
         (name.size() == outer.size() || name.substr(outer.size()).starts_with("::"));
}

// Whether the namespace belongs to a folder of the table that does not contain the file.
bool belongs_elsewhere(std::string_view file, std::string_view name) {
  return std::any_of(rows().begin(), rows().end(), [&](const Row& row) {
    return row.path.ends_with('/') && !file.starts_with(row.path) &&
           is_within(name, namespace_of(row.path));
  });
}

bool may_open(std::string_view file, std::string_view name) {
  if (std::any_of(kOpened.begin(), kOpened.end(), [&](const Opened& opened) {
        return file == opened.file && name == opened.name;
      })) {
    return true;
  }
  return is_within(name, namespace_of(file.substr(0, file.find('/') + 1))) &&
         !belongs_elsewhere(file, name);
}

// Whether a namespace block only declares classes; the text begins with the namespace's name.
bool only_declares(std::string_view block) {
  static const std::regex kForwards(R"([\w:]+ \{\n((class|struct) \w+;\n)+\}[^\n]*\n)");
  return std::regex_search(block.begin(), block.end(), kForwards,
                           std::regex_constants::match_continuous);
}

}  // namespace

std::string to_string(const Violation& violation) {
  return violation.file + ":" + std::to_string(violation.line) + ": includes " +
         violation.included + "; " + violation.rule;
}

std::string_view library_of(std::string_view name) {
  for (const Prefixed& entry : kLibraries) {
    if (name.starts_with(entry.prefix)) return entry.library;
  }
  if (std::find(kPosix.begin(), kPosix.end(), name) != kPosix.end()) return "posix";
  return name.find_first_of("./") == name.npos ? "std" : "unknown";
}

std::vector<Violation> scan(std::string_view file, std::string_view text) {
  std::vector<Violation> violations;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto [name, quoted] = parse_include(line);
    if (name.empty()) continue;
    std::optional<std::string> rule = broken_rule(file, name, quoted);
    if (rule)
      violations.push_back({std::string(file), number, std::string(name), *std::move(rule)});
  }
  return violations;
}

std::vector<std::string> scan_namespaces(std::string_view file, std::string_view text) {
  if (starts_with_any(file, kFreeNamespaces)) return {};
  constexpr std::string_view kOpens = "\nnamespace ";
  std::vector<std::string> said;
  for (std::size_t at = text.find(kOpens); at != text.npos; at = text.find(kOpens, at + 1)) {
    const std::string_view block = text.substr(at + kOpens.size());
    const std::string_view name =
        block.substr(0, block.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_:"));
    // An anonymous namespace has no name, or `$name$` in a template. An alias has no brace.
    if (name.empty() || !block.substr(name.size()).starts_with(" {")) continue;
    if (may_open(file, name) || only_declares(block)) continue;
    said.push_back(std::string(file) + ": is in " + std::string(name) +
                   ", not in its folder's namespace " +
                   namespace_of(file.substr(0, file.rfind('/') + 1)) + " or one around it");
  }
  return said;
}

}  // namespace ripeline::include_scan
