// ripeline format: the canonical layout.
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "spec/forward_only.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "spec/sequential.h"

namespace ripeline::cli {
namespace {

struct FormatOptions {
  std::vector<std::string> files;
  bool write = false;
  bool check = false;
  bool forward_only = false;
  std::vector<std::string> sequential;  // kinds of ops
};

// Prints a text that was made of the source's, or says why there is none.
int print_made(const spec::Source& source, const spec::Result<std::string>& made) {
  if (!made.ok()) {
    std::cerr << spec::render(source, made.errors());
    return bad_input;
  }
  std::cout << made.value();
  return ok;
}

int format_one(const std::string& file, const FormatOptions& options) {
  const auto read = load::read_input(file);
  if (!read.ok()) return say_failed(read.errors());
  const spec::Source& source = read.value().source;
  if (read.value().form == load::InputForm::schedule) {
    return say_failed(source.name +
                      ": this is a schedule of PyTorch, which has no layout; `format` is for "
                      "programs of the language");
  }
  const auto tree = spec::parse(source);
  if (!tree.ok()) {
    std::cerr << spec::render(source, tree.errors());
    return bad_input;
  }
  if (options.forward_only) return print_made(source, spec::forward_only(tree.value()));
  if (!options.sequential.empty()) {
    const std::set<std::string> kinds(options.sequential.begin(), options.sequential.end());
    return print_made(source, spec::sequential(tree.value(), kinds));
  }
  const std::string text = spec::print(tree.value());
  if (options.check) {
    if (text == source.text) return ok;
    std::cerr << source.name
              << ": not in the canonical layout; `ripeline format --write` makes it so\n";
    return refuted;
  }
  if (!options.write || file == "-") {
    std::cout << text;
    return ok;
  }
  if (text == source.text) return ok;
  return said(write_file(file, text)).ok() ? ok : bad_input;
}

}  // namespace

void add_format(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("format", "print programs in the canonical layout; comments are kept");
  auto options = std::make_shared<FormatOptions>();
  command->add_option("FILE", options->files, kProgramHelp)->required();
  auto* write = command->add_flag("--write", options->write, "rewrite the files in place");
  command
      ->add_flag("--check", options->check,
                 "change nothing; exit 1 if a file is not in the canonical layout")
      ->excludes(write);
  command
      ->add_flag("--forward-only", options->forward_only,
                 "print a program of the forwards alone, for evaluation")
      ->excludes(write)
      ->excludes("--check");
  command
      ->add_option("--sequential", options->sequential,
                   "print the program in which ops of these kinds, such as `forward` or "
                   "`\"backward input\"`, take the microbatches of a stage in turn")
      ->type_name("KIND,…")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(write)
      ->excludes("--check")
      ->excludes("--forward-only");
  command->footer(
      "Examples\n"
      "  ripeline format --write chain.ripe\n"
      "  ripeline format --check schedules/*.ripe\n"
      "  ripeline format --forward-only chain.ripe > evaluate.ripe\n"
      "  ripeline format --sequential forward chain.ripe > in_order.ripe\n"
      "Exit codes: 0 done, 1 with --check: a file is not in the canonical layout, 2 bad input.");
  command->callback([options, &exit_code] {
    for (const std::string& file : options->files) {
      exit_code = worse(exit_code, format_one(file, *options));
    }
  });
}

}  // namespace ripeline::cli
