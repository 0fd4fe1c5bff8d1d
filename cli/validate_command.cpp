// ripeline validate: whether a generated header is its program's, asked of the header's probe.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "validate/validator.h"

extern char** environ;

namespace ripeline::cli {
namespace {

struct ValidateCommand {
  std::string file;
  ProgramOptions program;
  std::string probe;
};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File scratch() { return {std::tmpfile(), std::fclose}; }

// The probe's process, reading `in` and writing `out`; how it ended, or why it did not begin.
bool run_probe(const std::string& probe, std::FILE* in, std::FILE* out, std::string& failure) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  std::string path = probe;
  char* arguments[] = {path.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, probe.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    failure = std::string("cannot be run: ") + std::strerror(error);
    return false;
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    failure = "was lost";
    return false;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  failure = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                : fmt::format("ended with {}", WEXITSTATUS(status));
  return false;
}

// What the probe answers to the script.
bool ask(const std::string& probe, const std::string& script, std::string& answers,
         std::string& failure) {
  const File in = scratch();
  const File out = scratch();
  if (!in || !out) {
    failure = std::string("needs scratch files: ") + std::strerror(errno);
    return false;
  }
  if (std::fwrite(script.data(), 1, script.size(), in.get()) != script.size() ||
      std::fflush(in.get()) != 0 || std::fseek(in.get(), 0, SEEK_SET) != 0) {
    failure = std::string("got no script: ") + std::strerror(errno);
    return false;
  }
  if (!run_probe(probe, in.get(), out.get(), failure)) return false;
  std::rewind(out.get());
  char buffer[1 << 16];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, out.get())) > 0;) {
    answers.append(buffer, n);
  }
  return true;
}

int run(const ValidateCommand& command) {
  const auto loaded = load(command.file, command.program);
  if (!loaded) return bad_input;
  const Progress progress("validating " + loaded->source.name);
  const simulate::Validator validator(loaded->program);
  std::string answers;
  std::string failure;
  if (!ask(command.probe, validator.script(), answers, failure)) {
    std::cerr << fmt::format("ripeline: {}: {}\n", command.probe, failure);
    return bad_input;
  }
  const simulate::Validation validation = validator.judge(answers);
  if (validation.differences.empty()) {
    std::cout << fmt::format("{}: valid: {}\n", loaded->source.name, summary(validation));
    return ok;
  }
  std::cerr << fmt::format("{}: what was generated is not this program: {} found\n",
                           loaded->source.name,
                           validation.differences.size() == 1
                               ? "1 difference"
                               : fmt::format("{} differences", validation.differences.size()));
  constexpr std::size_t kMostShown = 8;
  for (std::size_t i = 0; i < validation.differences.size() && i < kMostShown; ++i) {
    std::cerr << "  " << validation.differences[i] << '\n';
  }
  return refuted;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "validate", "compare a generated header with its program, in formulas and state by state");
  auto options = std::make_shared<ValidateCommand>();
  command->add_option("FILE", options->file, kFileHelp)->required();
  add_program_options(*command, options->program);
  command
      ->add_option("--probe", options->probe,
                   "the program compiled from what `generate --probe` wrote")
      ->required();
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
