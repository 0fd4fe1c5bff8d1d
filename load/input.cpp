#include "load/input.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "files/read_file.h"
#include "pytorch/csv/actions.h"
#include "spec/library.h"

namespace ripeline::load {
namespace {

// The names that an input may have. The error for an unknown name suggests the nearest of them.
enum class Names : std::uint8_t { files_and_library, files };

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
    if (entry.path().extension() != ".ripe" && !is_csv(entry.path().string())) continue;
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
  if (pytorch::has_action(source.text)) return InputForm::schedule;
  const auto ending = std::filesystem::path(source.name).extension();
  // A .ripe file with mistakes is a program too: the parser shows the mistakes.
  if (ending == ".ripe") return InputForm::program;
  return std::nullopt;
}

spec::Result<spec::Source> read_source(const std::string& file, Names names) {
  std::error_code ignored;
  if (file == "-" || std::filesystem::exists(file, ignored)) return read_file(file);
  if (const auto text = spec::library_text(file)) return spec::Source{.name = file, .text = *text};
  return spec::failure(not_found(file, names));
}

}  // namespace

spec::Result<spec::Source> read_file(const std::string& file) {
  if (file == "-") {
    return spec::Source{.name = "<stdin>", .text = {std::istreambuf_iterator<char>(std::cin), {}}};
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    return spec::failure(fmt::format("{}: this is a folder; expected a file", file));
  }
  spec::Source source{.name = file, .text = {}};
  if (const core::Status read = files::read_file(file, source.text); !read.ok()) {
    return spec::failure(fmt::format("{}: cannot be read: {}", file, read.message()));
  }
  return source;
}

spec::Result<Input> input_of(spec::Source source) {
  if (is_blank(source.text)) return spec::failure(source.name + ": the file is empty");
  const auto form = form_of(source);
  if (!form) return spec::failure(fmt::format("{}: {}", source.name, kNeither));
  return Input{std::move(source), *form};
}

namespace {

spec::Result<Input> read_with_form(const std::string& file, Names names) {
  auto source = read_source(file, names);
  if (!source.ok()) return source.errors();
  return input_of(std::move(source).value());
}

}  // namespace

spec::Result<Input> read_input(const std::string& file) {
  return read_with_form(file, Names::files_and_library);
}

spec::Result<spec::Source> read_schedule(const std::string& file) {
  auto input = read_with_form(file, Names::files);
  if (!input.ok()) return input.errors();
  if (input.value().form == InputForm::schedule) return std::move(input).value().source;
  return spec::failure(fmt::format(
      "{}: this is a program of the language, and no schedule of PyTorch: `ripeline verify` judges "
      "it, and `ripeline export` writes its order as such a schedule",
      input.value().source.name));
}

bool is_csv(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".csv";
}

bool may_be_schedule(const std::string& file) {
  const auto read = read_file(file);
  return !read.ok() || is_blank(read.value().text) || form_of(read.value()) == InputForm::schedule;
}

}  // namespace ripeline::load
