#include "cli/input.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/choice.h"
#include "cli/shorten.h"
#include "pytorch/csv/actions.h"
#include "pytorch/program.h"
#include "spec/library.h"
#include "spec/parse.h"

namespace ripeline::cli {

namespace {

// Other tables than schedules end so too.
bool is_csv(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".csv";
}

// The error for a missing file: what was looked for and where, and the nearest name.
std::string not_found(const std::string& file, Names wanted) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path path = fs::absolute(file, ignored).lexically_normal();
  std::vector<std::string> names;
  const bool library = wanted == Names::files_and_library;
  if (library) {
    for (const auto& entry : spec::library()) names.emplace_back(entry.name);
  }
  for (const auto& entry : fs::directory_iterator(path.parent_path(), ignored)) {
    if (entry.path().extension() != ".ripe" && !is_csv(entry.path())) continue;
    names.push_back((fs::path(file).parent_path() / entry.path().filename()).string());
  }
  std::sort(names.begin(), names.end());
  std::string text = fmt::format("{}: there is no file {}{}", file, path.string(),
                                 library ? ", and no library schedule of that name" : "");
  if (const auto meant = spec::nearest(file, names)) {
    text += fmt::format(". Did you mean {}?", *meant);
  } else if (library) {
    text += "; `ripeline library` lists them";
  }
  return text;
}

constexpr const char* kNeither =
    "neither a program nor a schedule of PyTorch. A program begins with `pipeline NAME {`; a "
    "schedule (CSV) has a row for each rank, of cells like 0F0 or (1F2;0B0)OVERLAP_F_B";

constexpr std::string_view kBlanks = " \t\r\n";

bool is_blank(std::string_view text) { return text.find_first_not_of(kBlanks) == text.npos; }

// Whether the text begins, after comments, with `pipeline`, as a program does.
bool begins_as_program(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with('#')) return text.starts_with("pipeline");
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

std::optional<InputForm> form_of(const spec::Source& source) {
  if (begins_as_program(source.text)) return InputForm::program;
  if (spec::has_action(source.text)) return InputForm::schedule;
  const auto ending = std::filesystem::path(source.name).extension();
  // Its mistakes are for the parser to show.
  if (ending == ".ripe") return InputForm::program;
  return std::nullopt;
}

// Also one that cannot be read or is empty: who reads it says so.
bool is_schedule_file(const std::string& path) {
  const auto read = read_file(path);
  return !read.ok() || is_blank(read.value().text) || form_of(read.value()) == InputForm::schedule;
}

// Why a file below a folder is skipped, after `file` or `files`.
constexpr std::string_view kNoAction = "without an action of PyTorch in any cell";
constexpr std::string_view kProgram = "in the language, which `ripeline verify` judges";

std::string files_text(std::size_t count) {
  return fmt::format("{} file{}", count, count == 1 ? "" : "s");
}

}  // namespace

spec::Result<Input> read_input(const std::string& file, Names names) {
  auto source = read_source(file, names);
  if (!source.ok()) return source.errors();
  if (is_blank(source.value().text)) {
    return failure(source.value().name + ": the file is empty");
  }
  const auto form = form_of(source.value());
  if (!form) return failure(fmt::format("{}: {}", source.value().name, kNeither));
  return Input{std::move(source).value(), *form};
}

bool is_folder(const std::string& file) {
  std::error_code ignored;
  return file != "-" && std::filesystem::is_directory(file, ignored);
}

ProgramsBelow programs_below(const std::string& folder, Below wanted) {
  namespace fs = std::filesystem;
  ProgramsBelow below;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    const std::string path = it->path().string();
    const bool program = it->path().extension() == ".ripe";
    const bool csv = is_csv(it->path());
    if (program && wanted == Below::schedules) {
      below.skipped.push_back({path, kProgram});
    } else if (program || (csv && is_schedule_file(path))) {
      below.files.push_back(path);
    } else if (csv) {
      below.skipped.push_back({path, kNoAction});
    }
  }
  std::sort(below.files.begin(), below.files.end());
  std::sort(below.skipped.begin(), below.skipped.end(),
            [](const Skipped& a, const Skipped& b) { return a.file < b.file; });
  if (error) {
    below.read = failure(fmt::format("{}: cannot be read: {}", folder, error.message()));
  } else if (below.files.empty()) {
    below.read = failure(fmt::format("{}: there is no {} below this folder", folder,
                                     wanted == Below::schedules
                                         ? "schedule of PyTorch (CSV)"
                                         : ".ripe file and no schedule of PyTorch (CSV)"));
  }
  return below;
}

void note_skipped(const ProgramsBelow& below) {
  constexpr std::size_t kMostNamed = 20;
  for (const std::string_view why : {kNoAction, kProgram}) {
    std::vector<std::string> files;
    for (const Skipped& one : below.skipped) {
      if (one.why == why) files.push_back(one.file);
    }
    if (files.empty()) continue;
    const std::size_t count = files.size();
    files.resize(std::min(count, kMostNamed));
    std::cerr << fmt::format(
        "note: skipped {} {}: {}{}\n", files_text(count), why, fmt::join(files, ", "),
        count > files.size() ? fmt::format(" and {} more", count - files.size()) : "");
  }
}

std::string skipped_text(std::size_t count) {
  return count == 0 ? "" : fmt::format("; {} skipped", files_text(count));
}

void add_program_options(CLI::App& command, ProgramOptions& options) {
  command
      .add_option("-D", options.defines,
                  "set a param, e.g. -D ranks=8; `microbatches` narrows the range to one count")
      ->type_name("K=V")
      ->allow_extra_args(false);
  command
      .add_option("--dispatch", options.dispatch,
                  "dispatch like this instead, e.g. \"ready by bf\"")
      ->type_name("TEXT");
  add_placement(command, options.placement);
}

void add_judged_options(CLI::App& command, ProgramOptions& options) {
  add_program_options(command, options);
  add_microbatches(command, options.microbatches,
                   "for this number of microbatches alone, or for each of a range, as 1..128; "
                   "without it, for all that the program is for");
}

ProgramOptions of_step(ProgramOptions options, const std::optional<Counts>& counts) {
  options.microbatches = counts;
  options.one_step = true;
  return options;
}

void add_placement(CLI::App& command, std::optional<spec::Placement>& placement) {
  using spec::Placement;
  add_choice<std::optional<Placement>, Placement>(
      command, "--placement", placement,
      {{"chain", Placement::chain}, {"loop", Placement::loop}, {"v", Placement::v}},
      "of a CSV: which rank owns a stage, which PyTorch's schedule class says and not the file; "
      "without it, what fits the file");
}

spec::Result<spec::Source> read_file(const std::string& file) {
  if (file == "-") {
    return spec::Source{.name = "<stdin>", .text = {std::istreambuf_iterator<char>(std::cin), {}}};
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    return failure(fmt::format("{}: this is a folder; expected a file", file));
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof())) {
    return failure(fmt::format("{}: cannot be read: {}", file, std::strerror(errno)));
  }
  return spec::Source{.name = file, .text = text.str()};
}

spec::Result<spec::Source> read_source(const std::string& file, Names names) {
  std::error_code ignored;
  if (file == "-" || std::filesystem::exists(file, ignored)) return read_file(file);
  if (const auto text = spec::library_text(file)) return spec::Source{.name = file, .text = *text};
  return failure(not_found(file, names));
}

spec::Result<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options) {
  spec::ElaborateOptions result;
  result.dispatch = options.dispatch;
  for (const std::string& define : options.defines) {
    const std::size_t equals = define.find('=');
    std::int64_t value = 0;
    const char* end = define.data() + define.size();
    const bool has_value = equals != std::string::npos && equals > 0;
    const auto parsed = has_value ? std::from_chars(define.data() + equals + 1, end, value)
                                  : std::from_chars_result{nullptr, std::errc::invalid_argument};
    if (define == kEveryRank) {
      return failure(
          "-D ranks=any: only `ripeline verify` asks of every number of ranks; give one, as in "
          "-D ranks=8");
    }
    if (parsed.ec == std::errc::result_out_of_range && parsed.ptr == end) {
      return failure(fmt::format("-D {}: {} does not fit: expected {} to {}",
                                 define.substr(0, equals), shortened(define.substr(equals + 1)),
                                 std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()));
    }
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
      return failure(
          fmt::format("-D {}: expected NAME=INTEGER, as in -D ranks=8", shortened(define)));
    }
    const auto [it, fresh] = result.defines.emplace(define.substr(0, equals), value);
    if (!fresh && it->second != value) {
      return failure(fmt::format("-D {}: {} is set twice, to {} and {}", define, it->first,
                                 it->second, value));
    }
  }
  if (const auto& counts = options.microbatches) {
    if (options.one_step && !counts->one()) return one_count(counts).errors();
    const auto define = result.defines.find("microbatches");
    const bool other =
        define != result.defines.end() && (!counts->one() || define->second != counts->first);
    if (other) {
      return failure(
          fmt::format("-m {}: microbatches are set twice, here and by -D microbatches={}",
                      counts->text(), define->second));
    }
    if (options.one_step || !counts->one()) {
      result.microbatches = {.first = counts->first, .last = counts->last};
      result.keeps_hash = options.one_step;
    } else {
      result.defines["microbatches"] = counts->first;
    }
  }
  return result;
}

namespace {

// Reads files beside the program; for standard input or the library, in the working folder.
spec::ReadFile reader_beside(const std::string& file) {
  return [folder = std::filesystem::path(file).parent_path()](
             const std::string& path) -> spec::Result<std::string> {
    std::error_code ignored;
    if (std::filesystem::is_directory(folder / path, ignored)) return failure("it is a folder");
    std::ifstream in(folder / path, std::ios::binary);
    std::ostringstream text;
    if (!in || !(text << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof())) {
      return failure(std::strerror(errno));
    }
    return text.str();
  };
}

// The flags of -D ranks=any, without that.
spec::Result<spec::ElaborateOptions> options_of_every_rank(const ProgramOptions& options) {
  ProgramOptions others = options;
  std::erase(others.defines, kEveryRank);
  auto elaborate = elaborate_options(others);
  if (!elaborate.ok() || !elaborate.value().defines.contains("ranks")) return elaborate;
  return failure(fmt::format("-D ranks: ranks is set twice, to {} and any",
                             elaborate.value().defines.at("ranks")));
}

// The text and the flags with which it is read.
struct Read {
  Input input;
  spec::ElaborateOptions options;
};
spec::Result<Read> read_with(const std::string& file,
                             spec::Result<spec::ElaborateOptions> options) {
  if (!options.ok()) return options.errors();
  spec::Result<Input> input = read_input(file);
  if (!input.ok()) return input.errors();
  Read read{std::move(input).value(), std::move(options).value()};
  read.options.read_file = reader_beside(file);
  return read;
}

// The program that a schedule stands for, in place of its text; the name stays.
spec::Result<void> make_program(Read& read, const ProgramOptions& options) {
  spec::Source& source = read.input.source;
  const auto made = verify::program_of(source, {.placement = options.placement});
  if (!made.ok()) return made.errors();
  for (const std::string& note : made.value().notes) {
    std::cerr << fmt::format("note: {}: {}\n", source.name, note);
  }
  source.text = made.value().text;
  read.options.read_file = [order = made.value().order](const std::string&) {
    return spec::Result<std::string>(order);
  };
  return {};
}

// Without the defines of params that the text has not. Its mistakes are left to who compiles it.
void keep_own_defines(Read& read) {
  const auto tree = spec::parse(read.input.source);
  if (!tree.ok()) return;
  std::erase_if(read.options.defines, [&](const auto& define) {
    if (define.first == "microbatches") return false;
    return std::none_of(tree.value().items.begin(), tree.value().items.end(),
                        [&](const spec::ast::Item& item) {
                          const auto* param = std::get_if<spec::ast::Param>(&item.value);
                          return param != nullptr && param->name.text == define.first;
                        });
  });
}

// Prints the errors; one with a position in the text is shown there.
void say_unmade(const spec::Source& source, const spec::Diagnostics& errors) {
  for (const spec::Diagnostic& error : errors) {
    if (error.span == spec::Span{} && error.option.empty()) {
      say_failed(fmt::format("{}: {}{}", source.name, error.message,
                             error.hint.empty() ? "" : "; " + error.hint));
    } else {
      std::cerr << spec::render(source, {error});
    }
  }
}

// -m with one number does what -D microbatches=N does, and is what its errors are about.
void name_flag(const ProgramOptions& options, spec::Diagnostics& errors) {
  if (!options.microbatches) return;
  for (spec::Diagnostic& error : errors) {
    if (error.id == "define-microbatches") error.option = "-m " + options.microbatches->text();
  }
}

// -m with a range is written into the text, in place of the program's own, so that all that is made
// of the text is for that range: a proof for every number of ranks, a repair, a certificate.
void narrow_text(spec::Source& source, const spec::ast::Pipeline& tree, const Counts& counts) {
  for (const spec::ast::Item& item : tree.items) {
    if (!std::holds_alternative<spec::ast::Microbatches>(item.value)) continue;
    source.text.replace(item.span.begin, item.span.end - item.span.begin,
                        fmt::format("microbatches {} .. {};", counts.first, counts.last));
    return;
  }
}

bool is_range(const ProgramOptions& options) {
  return options.microbatches && !options.microbatches->one();
}

// Nobody wrote the text in which these mistakes have their places.
spec::Diagnostics without_places(spec::Diagnostics errors) {
  for (spec::Diagnostic& error : errors) error.span = {};
  return errors;
}

// With -m, whose range may be written into the source and is then no option any more.
spec::Result<spec::Program> compiled(spec::Source& source, spec::ElaborateOptions& elaborate,
                                     const ProgramOptions& options) {
  spec::Result<spec::Program> program = spec::compile(source, elaborate);
  if (!program.ok()) {
    spec::Diagnostics errors = program.errors();
    name_flag(options, errors);
    return errors;
  }
  if (!is_range(options)) return program;
  narrow_text(source, spec::parse(source).value(), *options.microbatches);
  elaborate.microbatches.reset();
  return spec::compile(source, elaborate);
}

}  // namespace

spec::Result<LoadedTree> load_tree(const std::string& file, const ProgramOptions& options,
                                   std::optional<spec::Source>& read) {
  spec::Result<Read> found = said(read_with(file, options_of_every_rank(options)));
  if (!found.ok()) return found.errors();
  auto [input, elaborate] = std::move(found).value();
  spec::Source& source = input.source;
  read = source;
  if (input.form == InputForm::schedule) {
    return said(spec::Result<LoadedTree>(failure(
        fmt::format("-D ranks=any: {} is a schedule of PyTorch, for as many ranks as it has rows",
                    source.name))));
  }
  spec::Result<spec::ast::Pipeline> tree = spec::parse(source);
  if (!tree.ok()) {
    std::cerr << spec::render(source, tree.errors());
    return tree.errors();
  }
  if (is_range(options)) {
    const Counts& counts = *options.microbatches;
    const bool any = std::any_of(
        tree.value().items.begin(), tree.value().items.end(), [](const spec::ast::Item& item) {
          const auto* node = std::get_if<spec::ast::Microbatches>(&item.value);
          return node != nullptr && node->any;
        });
    if (!any) {
      return said(spec::Result<LoadedTree>(failure(fmt::format(
          "-m {}: with -D ranks=any, a range is for programs that say `microbatches any`; give "
          "one number, as -m {}",
          counts.text(), counts.last))));
    }
    narrow_text(source, tree.value(), counts);
    read = source;
    tree = spec::parse(source);
    elaborate.microbatches.reset();
  }
  return LoadedTree{std::move(source), std::move(tree).value(), std::move(elaborate)};
}

spec::Result<LoadedProgram> load(const std::string& file, const ProgramOptions& options,
                                 std::optional<spec::Source>* read) {
  spec::Result<Read> found = said(read_with(file, elaborate_options(options)));
  if (!found.ok()) return found.errors();
  Read made = std::move(found).value();
  auto& [input, elaborate] = made;
  if (read != nullptr) *read = input.source;
  if (input.form == InputForm::schedule) {
    if (const auto done = make_program(made, options); !done.ok()) {
      say_unmade(input.source, done.errors());
      return done.errors();
    }
  }
  if (options.several) keep_own_defines(made);
  spec::Result<spec::Program> program = compiled(input.source, elaborate, options);
  const spec::Source& source = input.source;
  if (!program.ok() && input.form == InputForm::schedule) {
    spec::Diagnostics errors = without_places(program.errors());
    say_unmade(source, errors);
    return errors;
  }
  if (!program.ok()) {
    std::cerr << spec::render(source, program.errors());
    return program.errors();
  }
  return LoadedProgram{.source = source,
                       .program = std::move(program).value(),
                       .options = elaborate,
                       .form = input.form};
}

}  // namespace ripeline::cli
