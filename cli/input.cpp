#include "cli/input.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "spec/library.h"
#include "spec/parse.h"

namespace ripeline::cli {

namespace {

// What was looked for and where, and what is called nearly so.
std::string not_found(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path path = fs::absolute(file, ignored).lexically_normal();
  std::vector<std::string> names;
  for (const auto& entry : spec::library()) names.emplace_back(entry.name);
  for (const auto& entry : fs::directory_iterator(path.parent_path(), ignored)) {
    if (entry.path().extension() != ".ripe") continue;
    names.push_back((fs::path(file).parent_path() / entry.path().filename()).string());
  }
  std::sort(names.begin(), names.end());
  std::string text = fmt::format("{}: there is no file {}, and no library schedule of that name",
                                 file, path.string());
  const auto meant = spec::nearest(file, names);
  return text +
         (meant ? fmt::format(". Did you mean {}?", *meant) : "; `ripeline library` lists them");
}

}  // namespace

bool is_folder(const std::string& file) {
  std::error_code ignored;
  return file != "-" && std::filesystem::is_directory(file, ignored);
}

ProgramsBelow programs_below(const std::string& folder) {
  namespace fs = std::filesystem;
  ProgramsBelow below;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() == ".ripe" && it->is_regular_file(ignored)) {
      below.files.push_back(it->path().string());
    }
  }
  std::sort(below.files.begin(), below.files.end());
  if (error) {
    below.read = failure(fmt::format("{}: cannot be read: {}", folder, error.message()));
  } else if (below.files.empty()) {
    below.read = failure(fmt::format("{}: there is no .ripe file below this folder", folder));
  }
  return below;
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

spec::Result<spec::Source> read_source(const std::string& file) {
  std::error_code ignored;
  if (file == "-" || std::filesystem::exists(file, ignored)) return read_file(file);
  if (const auto text = spec::library_text(file)) return spec::Source{.name = file, .text = *text};
  return failure(not_found(file));
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
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
      return failure(fmt::format("-D {}: expected NAME=INTEGER, as in -D ranks=8", define));
    }
    const auto [it, fresh] = result.defines.emplace(define.substr(0, equals), value);
    if (!fresh && it->second != value) {
      return failure(fmt::format("-D {}: {} is set twice, to {} and {}", define, it->first,
                                 it->second, value));
    }
  }
  return result;
}

namespace {

// What a program names lies beside it; beside what standard input or the library gives, here.
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
  spec::Source source;
  spec::ElaborateOptions options;
};
spec::Result<Read> read_with(const std::string& file,
                             spec::Result<spec::ElaborateOptions> options) {
  if (!options.ok()) return options.errors();
  spec::Result<spec::Source> source = read_source(file);
  if (!source.ok()) return source.errors();
  Read read{std::move(source).value(), std::move(options).value()};
  read.options.read_file = reader_beside(file);
  return read;
}

}  // namespace

spec::Result<LoadedTree> load_tree(const std::string& file, const ProgramOptions& options,
                                   std::optional<spec::Source>& read) {
  spec::Result<Read> found = said(read_with(file, options_of_every_rank(options)));
  if (!found.ok()) return found.errors();
  auto [source, elaborate] = std::move(found).value();
  read = source;
  spec::Result<spec::ast::Pipeline> tree = spec::parse(source);
  if (!tree.ok()) {
    std::cerr << spec::render(source, tree.errors());
    return tree.errors();
  }
  return LoadedTree{std::move(source), std::move(tree).value(), std::move(elaborate)};
}

spec::Result<LoadedProgram> load(const std::string& file, const ProgramOptions& options,
                                 std::optional<spec::Source>* read) {
  spec::Result<Read> found = said(read_with(file, elaborate_options(options)));
  if (!found.ok()) return found.errors();
  auto [source, elaborate] = std::move(found).value();
  if (read != nullptr) *read = source;
  spec::Result<spec::Program> program = spec::compile(source, elaborate);
  if (!program.ok()) {
    std::cerr << spec::render(source, program.errors());
    return program.errors();
  }
  return LoadedProgram{.source = std::move(source),
                       .program = std::move(program).value(),
                       .options = std::move(elaborate)};
}

}  // namespace ripeline::cli
