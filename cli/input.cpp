#include "cli/input.h"

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

namespace ripeline::cli {

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
    error = fmt::format("{}: there is no such file, and no library schedule of that name", file);
    std::vector<std::string> names;
    for (const auto& entry : spec::library()) names.emplace_back(entry.name);
    if (const std::string meant = spec::nearest(file, names); !meant.empty()) {
      error += fmt::format(". Did you mean {}?", meant);
    } else {
      error += "; `ripeline library` lists them";
    }
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

std::optional<Loaded> load(const std::string& file, const ProgramOptions& options,
                           spec::Diagnostics* errors) {
  std::string error;
  auto elaborate = elaborate_options(options, error);
  auto source = elaborate ? read_source(file, error) : std::nullopt;
  if (!source) {
    std::cerr << "ripeline: " << error << '\n';
    if (errors) errors->push_back({.id = "input", .message = error, .hint = {}, .span = {}});
    return std::nullopt;
  }
  elaborate->read_file = reader_beside(file);
  spec::Result<spec::Program> program = spec::compile(*source, *elaborate);
  if (!program.ok()) {
    std::cerr << spec::render(*source, program.errors());
    if (errors) *errors = program.errors();
    return std::nullopt;
  }
  return Loaded{.source = *std::move(source), .program = std::move(program).value()};
}

}  // namespace ripeline::cli
