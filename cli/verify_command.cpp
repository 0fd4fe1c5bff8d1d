// ripeline verify: verdicts of one or several programs.
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/verify_input.h"
#include "core/vocabulary/plural.h"

namespace ripeline::cli {
namespace {

struct VerifyCommand {
  std::vector<std::string> files;
  Format format = Format::text;
  bool deny_warnings = false;
  VerifyFlags each;
};

int run(const VerifyCommand& command) {
  const VerifyFlags& each = command.each;
  const bool one = is_one_file(command.files);
  const bool every_depth = load::for_every_rank(each.program);
  if (!each.certificate.empty() && !one) {
    return say_failed("--certificate is for one FILE; give each its own folder");
  }
  if (each.picture.wanted() && (!one || every_depth)) {
    return say_failed("--picture is for one FILE and one number of ranks");
  }
  if (every_depth && (each.layouts || !each.least.empty())) {
    return say_failed("--layouts and --least are for one number of ranks, not for -D ranks=any");
  }
  Findings findings(verify::Inputs::programs, command.format);
  std::size_t warnings = 0;
  findings.judge_all(command.files, [&](const std::string& file) {
    warnings += verify_input(file, each, findings);
  });
  if (warnings == 0) return findings.finish();
  const std::string count = plural(static_cast<std::int64_t>(warnings), "warning");
  if (command.deny_warnings) {
    // A denied warning counts as an error in the text.
    std::cerr << "ripeline: --deny-warnings: " << count << '\n';
    return findings.finish(", " + count, bad_input);
  }
  std::cerr << "note: " << count << "; with --deny-warnings a warning fails, with exit code 2\n";
  return findings.finish(", " + count);
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("verify",
                                         "prove a program free of deadlock, within its memory, "
                                         "every task once: for every timing and count");
  auto options = std::make_shared<VerifyCommand>();
  VerifyFlags& each = options->each;
  command
      ->add_option("FILE", options->files,
                   std::string(kFileHelp) +
                       "; or a folder: every .ripe file and every schedule (CSV) below it")
      ->required();
  add_judged_options(*command, each.program);
  add_findings_format(*command, options->format);
  command->add_flag("--no-times", each.no_times,
                    "leave the seconds out, so that two runs print the same");
  command->add_flag("--no-repairs", each.no_repairs,
                    "do not search what would repair a program that is refuted or unknown");
  command->add_flag("--deny-warnings", options->deny_warnings,
                    "a program with a warning fails as bad input does, whatever its verdict");
  command->add_option("--steps", each.steps, "limit of each solver query, in solver steps")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()));
  command->add_flag("--layouts", each.layouts,
                    "of `dispatch in order`: judge its sends and receives for each layout of "
                    "communicators and each way in which kernels share a device");
  command
      ->add_option("--least", each.least,
                   "the smallest capacities of a resource, or slots of a channel or of `links`, "
                   "that are safe; sends: the fewest credits with which un-grouped sends of "
                   "`dispatch in order` are")
      ->type_name("NAME");
  command
      ->add_option("--certificate", each.certificate,
                   "write what the verdict rests on into this folder, for `ripeline recheck`")
      ->type_name("DIR");
  add_picture(*command, each.picture);
  command->footer(
      "A CSV is judged as the order in which its ranks compute, each message with a slot of its\n"
      "own; `ripeline check` judges its sends and receives as well.\n"
      "-D ranks=any proves a program for every number of ranks, where it can.\n"
      "Exit codes: 0 proved, 1 refuted, 3 unknown, 2 bad input, or a warning that is denied; of\n"
      "several files the worst, in the order 2, 1, 3, 0.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
