#include "load/program.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "files/read_file.h"
#include "load/shorten.h"
#include "pytorch/program.h"
#include "spec/lint.h"
#include "spec/parse.h"

namespace ripeline::load {
namespace {

constexpr const char* kEveryRank = "ranks=any";

// Reads files in the program's folder, or in the working folder for standard input or the library.
spec::ReadFile reader_beside(const std::string& file) {
  return [folder = std::filesystem::path(file).parent_path()](
             const std::string& path) -> spec::Result<std::string> {
    std::error_code ignored;
    if (std::filesystem::is_directory(folder / path, ignored))
      return spec::failure("it is a folder");
    std::string bytes;
    const core::Status read = files::read_file((folder / path).string(), bytes);
    if (!read.ok()) return spec::failure(read.message());
    return bytes;
  };
}

// Reads with `reader`, and stores the bytes in `files`.
spec::ReadFile storing(spec::ReadFile reader, std::shared_ptr<Files> files) {
  return [reader = std::move(reader), files = std::move(files)](const std::string& path) {
    auto read = reader(path);
    if (read.ok()) files->insert_or_assign(path, read.value());
    return read;
  };
}

// Takes the bytes from `files`, and asks `reader` only for files that are not there.
spec::ReadFile stored(spec::ReadFile reader, std::shared_ptr<const Files> files) {
  return [reader = std::move(reader), files = std::move(files)](const std::string& path) {
    const auto file = files->find(path);
    return file == files->end() ? reader(path) : spec::Result<std::string>(file->second);
  };
}

// The options without -D ranks=any.
spec::Result<spec::ElaborateOptions> options_of_every_rank(const ProgramOptions& options) {
  ProgramOptions others = options;
  std::erase(others.defines, kEveryRank);
  auto elaborate = elaborate_options(others);
  if (!elaborate.ok() || !elaborate.value().defines.contains("ranks")) return elaborate;
  return spec::failure(fmt::format("-D ranks: ranks is set twice, to {} and any",
                                   elaborate.value().defines.at("ranks")));
}

// The text and the options with which it is compiled.
struct Read {
  Input input;
  spec::ElaborateOptions options;
};
Read read_of(Input input, spec::ElaborateOptions options, Reading* reading) {
  if (reading != nullptr) reading->input = input;
  Read read{std::move(input), std::move(options)};
  read.options.read_file = reader_beside(read.input.source.name);
  return read;
}
spec::Result<Read> read_with(const std::string& file, spec::Result<spec::ElaborateOptions> options,
                             Reading* reading) {
  if (!options.ok()) return options.errors();
  spec::Result<Input> input = read_input(file);
  if (!input.ok()) return input.errors();
  return read_of(std::move(input).value(), std::move(options).value(), reading);
}

// Replaces a schedule's text with the program that it stands for; keeps the name of the source.
spec::Result<void> make_program(Read& read, const ProgramOptions& options, Reading* reading) {
  spec::Source& source = read.input.source;
  auto made = pytorch::program_of(source, {.placement = options.placement});
  if (!made.ok()) return made.errors();
  pytorch::ScheduleProgram program = std::move(made).value();
  if (reading != nullptr) reading->notes = std::move(program.notes);
  source.text = std::move(program.text);
  read.options.read_file = [order = std::move(program.order)](const std::string&) {
    return spec::Result<std::string>(order);
  };
  return {};
}

// Drops the defines of params that the program does not have.
void keep_own_defines(const spec::ast::Pipeline& tree, spec::ElaborateOptions& options) {
  std::erase_if(options.defines, [&](const auto& define) {
    if (define.first == "microbatches") return false;
    return std::none_of(tree.items.begin(), tree.items.end(), [&](const spec::ast::Item& item) {
      const auto* param = std::get_if<spec::ast::Param>(&item.value);
      return param != nullptr && param->name.text == define.first;
    });
  });
}

// -m with one number acts as -D microbatches=N; errors about that define must name -m instead.
void name_option(const ProgramOptions& options, spec::Diagnostics& errors) {
  if (!options.microbatches) return;
  for (spec::Diagnostic& error : errors) {
    if (error.id == "define-microbatches") error.option = "-m " + options.microbatches->text();
  }
}

spec::Result<spec::Program> compiled(Read& read, const ProgramOptions& options) {
  const spec::Source& source = read.input.source;
  const auto tree = spec::parse(source);
  if (!tree.ok()) return tree.errors();
  if (options.several) keep_own_defines(tree.value(), read.options);
  auto program = spec::elaborate(tree.value(), source, read.options);
  if (program.ok()) return program;
  spec::Diagnostics errors = program.errors();
  name_option(options, errors);
  return errors;
}

// Makes the program of a text in the language, or of the text that stands for a schedule.
spec::Result<LoadedProgram> elaborated(Read read, const ProgramOptions& options) {
  const InputForm form = read.input.form;
  const spec::ReadFile reader = read.options.read_file;
  const auto files = std::make_shared<Files>();
  read.options.read_file = storing(reader, files);
  spec::Result<spec::Program> program = compiled(read, options);
  read.options.read_file = stored(reader, files);
  if (!program.ok()) {
    spec::Diagnostics errors = program.errors();
    // Removes the errors' positions, since they are in a text that no user wrote.
    if (form == InputForm::schedule) {
      for (spec::Diagnostic& error : errors) error.span = {};
    }
    return errors;
  }
  return LoadedProgram{.source = std::move(read.input.source),
                       .program = std::move(program).value(),
                       .options = std::move(read.options),
                       .form = form,
                       .files = files};
}

spec::Result<LoadedProgram> loaded(Read read, const ProgramOptions& options, Reading* reading) {
  if (read.input.form == InputForm::schedule) {
    if (const auto done = make_program(read, options, reading); !done.ok()) return done.errors();
  }
  return elaborated(std::move(read), options);
}

// Parses the text, for every number of ranks.
spec::Result<LoadedTree> parsed(Read read, const ProgramOptions& options) {
  auto& [input, elaborate] = read;
  if (input.form == InputForm::schedule) {
    return spec::failure(
        fmt::format("-D ranks=any: {} is a schedule of PyTorch, for as many ranks as it has rows",
                    input.source.name));
  }
  spec::Result<spec::ast::Pipeline> tree = spec::parse(input.source);
  if (!tree.ok()) return tree.errors();
  if (const auto& counts = options.microbatches; counts && !counts->one()) {
    const auto& items = tree.value().items;
    const bool any = std::any_of(items.begin(), items.end(), [](const spec::ast::Item& item) {
      const auto* node = std::get_if<spec::ast::Microbatches>(&item.value);
      return node != nullptr && node->any;
    });
    if (!any) {
      return spec::failure(fmt::format(
          "-m {}: with -D ranks=any, a range is for programs that say `microbatches any`; give "
          "one number, as -m {}",
          counts->text(), counts->last));
    }
  }
  return LoadedTree{std::move(input.source), spec::narrowed(std::move(tree).value(), elaborate),
                    std::move(elaborate)};
}

}  // namespace

std::string errors_text(const Input& input, const spec::Diagnostics& errors,
                        const std::string& prefix) {
  const auto& [source, form] = input;
  if (form == InputForm::program) return spec::render(source, errors);
  std::string text;
  for (const spec::Diagnostic& error : errors) {
    if (error.span == spec::Span{} && error.option.empty()) {
      text += fmt::format("{}{}: {}{}\n", prefix, source.name, error.message,
                          error.hint.empty() ? "" : "; " + error.hint);
    } else {
      text += spec::render(source, {error});
    }
  }
  return text;
}

std::string errors_text(const Reading& reading, const spec::Diagnostics& errors,
                        const std::string& prefix) {
  if (reading.input && !std::all_of(errors.begin(), errors.end(), spec::is_failure)) {
    return errors_text(*reading.input, errors, prefix);
  }
  std::string text;
  for (const spec::Diagnostic& error : errors) {
    const std::string option = error.option.empty() ? "" : error.option + ": ";
    text += prefix + option + error.message + "\n";
  }
  return text;
}

ProgramOptions of_step(ProgramOptions options, const std::optional<Counts>& counts) {
  options.microbatches = counts;
  options.one_step = true;
  return options;
}

ProgramOptions of_every_rank(ProgramOptions options) {
  std::erase_if(options.defines, [](const std::string& k) { return k.starts_with("ranks="); });
  options.defines.emplace_back(kEveryRank);
  return options;
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
      return spec::failure(
          "-D ranks=any: only `ripeline verify` asks of every number of ranks; give one, as in "
          "-D ranks=8");
    }
    if (parsed.ec == std::errc::result_out_of_range && parsed.ptr == end) {
      return spec::failure(fmt::format(
          "-D {}: {} does not fit: expected {} to {}", define.substr(0, equals),
          shortened(define.substr(equals + 1)), std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max()));
    }
    if (parsed.ec != std::errc{} || parsed.ptr != end) {
      return spec::failure(
          fmt::format("-D {}: expected NAME=INTEGER, as in -D ranks=8", shortened(define)));
    }
    const auto [it, fresh] = result.defines.emplace(define.substr(0, equals), value);
    if (!fresh && it->second != value) {
      return spec::failure(fmt::format("-D {}: {} is set twice, to {} and {}", define, it->first,
                                       it->second, value));
    }
  }
  if (const auto& counts = options.microbatches) {
    if (options.one_step && !counts->one()) return one_count(counts).errors();
    const auto define = result.defines.find("microbatches");
    const bool other =
        define != result.defines.end() && (!counts->one() || define->second != counts->first);
    if (other) {
      return spec::failure(
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

spec::Result<LoadedProgram> read_program(const std::string& file, const ProgramOptions& options,
                                         Reading* reading) {
  spec::Result<Read> read = read_with(file, elaborate_options(options), reading);
  if (!read.ok()) return read.errors();
  return loaded(std::move(read).value(), options, reading);
}

spec::Result<LoadedProgram> program_of_text(spec::Source source, const ProgramOptions& options,
                                            Reading* reading) {
  spec::Result<spec::ElaborateOptions> elaborate = elaborate_options(options);
  if (!elaborate.ok()) return elaborate.errors();
  spec::Result<Input> input = input_of(std::move(source));
  if (!input.ok()) return input.errors();
  return loaded(read_of(std::move(input).value(), std::move(elaborate).value(), reading), options,
                reading);
}

spec::Result<LoadedProgram> made_again(const LoadedProgram& before, const ProgramOptions& options) {
  spec::Result<spec::ElaborateOptions> elaborate = elaborate_options(options);
  if (!elaborate.ok()) return elaborate.errors();
  Read read{{before.source, before.form}, std::move(elaborate).value()};
  read.options.read_file = before.options.read_file;
  return elaborated(std::move(read), options);
}

spec::Result<LoadedProgram> made_of(Input input, const Files& files, const ProgramOptions& options,
                                    Reading* reading) {
  spec::Result<spec::ElaborateOptions> elaborate = elaborate_options(options);
  if (!elaborate.ok()) return elaborate.errors();
  Read read = read_of(std::move(input), std::move(elaborate).value(), reading);
  const auto missing = [](const std::string& /*path*/) -> spec::Result<std::string> {
    return spec::failure("it is not among the files that were read");
  };
  read.options.read_file = stored(missing, std::make_shared<const Files>(files));
  return elaborated(std::move(read), options);
}

spec::Result<LoadedProgram> read_program_of(const std::string& file, const ProgramOptions& options,
                                            std::uint64_t hash, Reading* reading) {
  auto judged = read_program(file, options, reading);
  const auto& counts = options.microbatches;
  const bool one = counts && counts->one();
  if (!judged.ok() || !one || judged.value().program.hash == hash) return judged;
  auto of_text = read_program(file, of_step(options, counts));
  return of_text.ok() && of_text.value().program.hash == hash ? of_text : judged;
}

spec::Diagnostics warnings_of(const LoadedProgram& loaded) {
  if (loaded.form == InputForm::schedule) return {};
  const auto tree = spec::parse(loaded.source);
  return tree.ok() ? spec::lint(tree.value(), loaded.program) : spec::Diagnostics();
}

bool for_every_rank(const ProgramOptions& options) {
  const auto& defines = options.defines;
  return std::find(defines.begin(), defines.end(), kEveryRank) != defines.end();
}

spec::Result<LoadedTree> read_tree(const std::string& file, const ProgramOptions& options,
                                   Reading* reading) {
  spec::Result<Read> found = read_with(file, options_of_every_rank(options), reading);
  if (!found.ok()) return found.errors();
  return parsed(std::move(found).value(), options);
}

spec::Result<LoadedTree> tree_again(const LoadedProgram& loaded, const ProgramOptions& options) {
  spec::Result<spec::ElaborateOptions> elaborate = options_of_every_rank(options);
  if (!elaborate.ok()) return elaborate.errors();
  Read read{{loaded.source, loaded.form}, std::move(elaborate).value()};
  read.options.read_file = loaded.options.read_file;
  return parsed(std::move(read), options);
}

}  // namespace ripeline::load
