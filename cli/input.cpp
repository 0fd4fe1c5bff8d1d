#include "cli/input.h"

#include <algorithm>
#include <array>
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
  const std::string meant = spec::nearest(file, names);
  return text + (meant.empty() ? "; `ripeline library` lists them"
                               : fmt::format(". Did you mean {}?", meant));
}

}  // namespace

bool is_folder(const std::string& file) {
  std::error_code ignored;
  return file != "-" && std::filesystem::is_directory(file, ignored);
}

std::vector<std::string> programs_below(const std::string& folder, std::string& error) {
  namespace fs = std::filesystem;
  std::vector<std::string> programs;
  std::error_code failure;
  fs::recursive_directory_iterator it(folder, failure);
  for (; !failure && it != fs::recursive_directory_iterator(); it.increment(failure)) {
    std::error_code ignored;
    if (it->path().extension() == ".ripe" && it->is_regular_file(ignored)) {
      programs.push_back(it->path().string());
    }
  }
  std::sort(programs.begin(), programs.end());
  if (failure) {
    error = fmt::format("{}: cannot be read: {}", folder, failure.message());
  } else if (programs.empty()) {
    error = fmt::format("{}: there is no .ripe file below this folder", folder);
  }
  return programs;
}

int exit_code_of(verify::Outcome outcome) {
  switch (outcome) {
    case verify::Outcome::proved:
      return ok;
    case verify::Outcome::refuted:
      return refuted;
    case verify::Outcome::unknown:
      return unknown;
  }
  return unknown;
}

int worse(int a, int b) {
  constexpr std::array<int, 4> kWorstFirst = {bad_input, refuted, unknown, ok};
  for (const int code : kWorstFirst) {
    if (a == code || b == code) return code;
  }
  return ok;
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

std::optional<spec::Source> read_file(const std::string& file, std::string& error) {
  if (file == "-") {
    return spec::Source{.name = "<stdin>", .text = {std::istreambuf_iterator<char>(std::cin), {}}};
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    error = fmt::format("{}: this is a folder; expected a file", file);
    return std::nullopt;
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof())) {
    error = fmt::format("{}: cannot be read: {}", file, std::strerror(errno));
    return std::nullopt;
  }
  return spec::Source{.name = file, .text = text.str()};
}

std::optional<spec::Source> read_source(const std::string& file, std::string& error) {
  std::error_code ignored;
  if (file != "-" && !std::filesystem::exists(file, ignored)) {
    if (const auto text = spec::library_text(file))
      return spec::Source{.name = file, .text = *text};
    error = not_found(file);
    return std::nullopt;
  }
  return read_file(file, error);
}

std::optional<spec::ElaborateOptions> elaborate_options(const ProgramOptions& options,
                                                        std::string& error) {
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
      error =
          "-D ranks=any: only `ripeline verify` asks of every number of ranks; give one, as in "
          "-D ranks=8";
      return std::nullopt;
    }
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
      error = fmt::format("-D {}: expected NAME=INTEGER, as in -D ranks=8", define);
      return std::nullopt;
    }
    const auto [it, fresh] = result.defines.emplace(define.substr(0, equals), value);
    if (!fresh && it->second != value) {
      error =
          fmt::format("-D {}: {} is set twice, to {} and {}", define, it->first, it->second, value);
      return std::nullopt;
    }
  }
  return result;
}

namespace {

// What a program names lies beside it; beside what standard input or the library gives, here.
spec::ReadFile reader_beside(const std::string& file) {
  return [folder = std::filesystem::path(file).parent_path()](
             const std::string& path, std::string& why) -> std::optional<std::string> {
    std::error_code ignored;
    if (std::filesystem::is_directory(folder / path, ignored)) {
      why = "it is a folder";
      return std::nullopt;
    }
    std::ifstream in(folder / path, std::ios::binary);
    std::ostringstream text;
    if (!in || !(text << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof())) {
      why = std::strerror(errno);
      return std::nullopt;
    }
    return text.str();
  };
}

}  // namespace

std::optional<LoadedTree> load_tree(const std::string& file, const ProgramOptions& options,
                                    spec::Diagnostics& errors, std::optional<spec::Source>& read) {
  ProgramOptions others = options;
  std::erase(others.defines, kEveryRank);
  std::string error;
  auto elaborate = elaborate_options(others, error);
  if (elaborate && elaborate->defines.contains("ranks")) {
    error =
        fmt::format("-D ranks: ranks is set twice, to {} and any", elaborate->defines.at("ranks"));
  }
  if (error.empty()) read = read_source(file, error);
  if (!read) {
    std::cerr << "ripeline: " << error << '\n';
    errors.push_back({.id = "input", .message = error, .hint = {}, .span = {}});
    return std::nullopt;
  }
  elaborate->read_file = reader_beside(file);
  spec::Result<spec::ast::Pipeline> tree = spec::parse(*read);
  if (!tree.ok()) {
    errors = tree.errors();
    std::cerr << spec::render(*read, errors);
    return std::nullopt;
  }
  return LoadedTree{*read, std::move(tree).value(), *std::move(elaborate)};
}

std::optional<Loaded> load(const std::string& file, const ProgramOptions& options,
                           spec::Diagnostics* errors, std::optional<spec::Source>* read) {
  std::string error;
  auto elaborate = elaborate_options(options, error);
  auto source = elaborate ? read_source(file, error) : std::nullopt;
  if (!source) {
    std::cerr << "ripeline: " << error << '\n';
    if (errors) errors->push_back({.id = "input", .message = error, .hint = {}, .span = {}});
    return std::nullopt;
  }
  elaborate->read_file = reader_beside(file);
  if (read != nullptr) *read = source;
  spec::Result<spec::Program> program = spec::compile(*source, *elaborate);
  if (!program.ok()) {
    std::cerr << spec::render(*source, program.errors());
    if (errors) *errors = program.errors();
    return std::nullopt;
  }
  return Loaded{.source = *std::move(source),
                .program = std::move(program).value(),
                .options = *std::move(elaborate)};
}

}  // namespace ripeline::cli
