// ripeline verify: verdicts of one or several programs.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/certificate_folder.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/pictures.h"
#include "cli/progress.h"
#include "cli/quicker.h"
#include "cli/sarif.h"
#include "cli/summary.h"
#include "cli/warnings.h"
#include "optimise/least_capacity.h"
#include "optimise/least_capacity_report.h"
#include "optimise/repair.h"
#include "verify/every_depth.h"
#include "verify/report.h"
#include "verify/verify.h"
#include "wire/report.h"

namespace ripeline::cli {
namespace {

struct VerifyCommand {
  std::vector<std::string> files;
  load::ProgramOptions program;
  std::string format = "text";
  bool no_times = false;
  bool no_repairs = false;
  bool deny_warnings = false;
  std::uint64_t steps = verify::VerifyOptions{}.solver_steps;
  bool layouts = false;
  std::string least;        // the resource, channel or `sends` to find the least of; empty: none
  std::string certificate;  // the folder; empty: none
  PictureFlags picture;     // the refuting run's
};

nlohmann::json diagnostics_json(const std::optional<spec::Source>& source,
                                const spec::Diagnostics& diagnostics) {
  nlohmann::json list = nlohmann::json::array();
  for (const spec::Diagnostic& d : diagnostics) {
    nlohmann::json entry = {{"id", d.id}, {"message", d.message}, {"hint", d.hint}};
    if (!d.option.empty()) {
      entry["option"] = d.option;
    } else if (source) {
      const spec::Position at = spec::position_of(*source, d.span.begin);
      entry["line"] = at.line;
      entry["column"] = at.column;
    }
    list.push_back(entry);
  }
  return list;
}

nlohmann::json bad_input_json(const std::string& file, const std::optional<spec::Source>& source,
                              const spec::Diagnostics& errors) {
  return {{"schema", "ripeline.verify/2"},
          {"file", file},
          {"verdict", "bad input"},
          {"errors", diagnostics_json(source, errors)}};
}

// Writes the certificate of any verdict; that of `unknown` says so.
spec::Result<void> write_evidence(const load::LoadedProgram& loaded, const VerifyCommand& command,
                                  const verify::Verdict& verdict) {
  return write_certificate(command.certificate,
                           certificates::certificate_of(loaded.source, loaded.options,
                                                        loaded.program, verdict, RIPELINE_VERSION));
}

// The program's own names come first, so a resource may be called `sends`.
bool asks_for_sends(const spec::Program& program, const VerifyCommand& command) {
  const auto names = optimise::least_names(program);
  return command.least == "sends" && std::find(names.begin(), names.end(), "sends") == names.end();
}

// The answers to --layouts and --least, which change no exit code: JSON fields, or printed text.
nlohmann::json wire_of(const spec::Program& program, const VerifyCommand& command) {
  const bool text = command.format == "text";
  nlohmann::json json = nlohmann::json::object();
  if (command.layouts) {
    const wire::LayoutTable table = wire::judge_layouts(program);
    if (text) std::cout << wire::layouts_text(table);
    if (!text) json["layouts"] = wire::layouts_json(table);
  }
  if (command.least.empty()) return json;
  const Progress progress("the least " + command.least + " of " + program.source_name);
  const verify::VerifyOptions options{.solver_steps = command.steps};
  if (asks_for_sends(program, command)) {
    const wire::LeastSends least = wire::least_sends(program, options);
    if (text) std::cout << wire::least_sends_text(least);
    if (!text) json["least"]["sends"] = wire::least_sends_json(least);
  } else {
    const optimise::LeastCapacity least = optimise::least_capacity(program, command.least, options);
    if (text) std::cout << optimise::least_capacity_text(command.least, least);
    if (!text) json["least"][command.least] = optimise::least_capacity_json(least);
  }
  return json;
}

// The findings on all programs, in the format that was asked for.
class Findings {
 public:
  explicit Findings(const VerifyCommand& command) : command_(command) {}

  void add_bad_input(const std::string& file, const std::optional<spec::Source>& source,
                     const spec::Diagnostics& errors) {
    summary_.add(bad_input);
    if (command_.format == "json") add_json(file, bad_input_json(file, source, errors));
    if (command_.format == "sarif") sarif_.add_bad_input(file, source, errors);
  }

  void add(const std::string& file, const load::LoadedProgram& loaded, verify::Verdict verdict) {
    summary_.add(exit_code_of(verdict.outcome));
    const spec::Diagnostics warnings = said_warnings(loaded);
    warnings_ += warnings.size();
    if (command_.no_times) {
      for (verify::Obligation& o : verdict.obligations) o.seconds = -1;
    }
    if (command_.format == "json") {
      nlohmann::json json = verify::report_json(loaded.program, loaded.source, verdict);
      json["warnings"] = diagnostics_json(loaded.source, warnings);
      json.update(wire_of(loaded.program, command_));
      add_json(file, std::move(json));
    } else if (command_.format == "sarif") {
      sarif_.add_verdict(file, loaded, verdict);
      sarif_.add_warnings(file, loaded, warnings);
    } else {
      std::cout << verify::report_text(loaded.program, loaded.source, verdict);
      (void)wire_of(loaded.program, command_);
    }
  }

  void add_skipped(const load::ProgramsBelow& below) {
    note_skipped(below);
    skipped_.insert(skipped_.end(), below.skipped.begin(), below.skipped.end());
  }

  // `one`: exactly one program was asked for, by its own name.
  int finish(bool one) const {
    const int code = exit_code();
    if (command_.format == "text") {
      if (!one) {
        std::cout << '\n'
                  << summary_.text("program") << said_count(", ") << skipped_text(skipped_.size())
                  << '\n';
      }
      return code;
    }
    nlohmann::json json;
    if (command_.format == "sarif") {
      json = sarif_.log(code, skipped_);
    } else if (one) {
      json = programs_[0];
    } else {
      json = {{"schema", "ripeline.verify.list/2"},
              {"programs", programs_},
              {"skipped", skipped_json(skipped_)}};
    }
    // A file's name may be bytes that are no text.
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return code;
  }

 private:
  std::string said_count(const char* before) const {
    if (warnings_ == 0) return "";
    return fmt::format("{}{} warning{}", before, warnings_, warnings_ == 1 ? "" : "s");
  }

  // A warning that is denied is an error of the text, and counts as one.
  int exit_code() const {
    if (warnings_ == 0) return summary_.code();
    if (!command_.deny_warnings) {
      std::cerr << "note: " << said_count("")
                << "; with --deny-warnings a warning fails, with exit code 2\n";
      return summary_.code();
    }
    std::cerr << "ripeline: --deny-warnings: " << said_count("") << '\n';
    return worse(summary_.code(), bad_input);
  }

  void add_json(const std::string& file, nlohmann::json program) {
    program["file"] = file;
    programs_.push_back(std::move(program));
  }

  const VerifyCommand& command_;
  Summary summary_;
  std::size_t warnings_ = 0;
  nlohmann::json programs_ = nlohmann::json::array();
  std::vector<load::Skipped> skipped_;
  SarifLog sarif_{SarifLog::Of::programs};
};

bool asks_every_depth(const VerifyCommand& command) {
  const auto& defines = command.program.defines;
  return std::find(defines.begin(), defines.end(), load::kEveryRank) != defines.end();
}

void verify_every_depth(const std::string& file, const VerifyCommand& command, Findings& findings) {
  std::optional<spec::Source> source;
  const auto parsed = load_tree(file, command.program, &source);
  if (!parsed.ok()) return findings.add_bad_input(file, source, parsed.errors());
  const load::LoadedTree& loaded = parsed.value();
  auto found = [&] {
    const Progress progress("proving " + loaded.source.name);
    return verify::verify_every_depth(loaded.tree, loaded.source, loaded.options,
                                      {.solver_steps = command.steps});
  }();
  if (!found.ok()) {
    std::cerr << spec::render(loaded.source, found.errors());
    return findings.add_bad_input(file, source, found.errors());
  }
  verify::DepthVerdict depth = std::move(found).value();
  if (!command.certificate.empty()) {
    const Progress progress("writing what the proof rests on");
    const certificates::Files files = certificates::certificate_of(
        loaded.source, loaded.tree, loaded.options, depth, RIPELINE_VERSION, command.steps);
    if (!said(write_certificate(command.certificate, files)).ok()) {
      return findings.add_bad_input(file, source, {});
    }
  }
  findings.add(file,
               {loaded.source, std::move(depth.sample), loaded.options, load::InputForm::program},
               std::move(depth.verdict));
}

// Fails if the program has nothing of the name that --least asks for.
spec::Result<void> check_least(const spec::Program& program, const VerifyCommand& command) {
  if (command.least.empty() || asks_for_sends(program, command)) return {};
  std::vector<std::string> names = optimise::least_names(program);
  if (std::find(names.begin(), names.end(), command.least) != names.end()) return {};
  if (program.dispatch.in_order) names.emplace_back("sends");
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  const auto meant = spec::nearest(command.least, names);
  spec::Diagnostic error = failure(
      fmt::format("{} has no resource or channel of that name; it has {}{}", program.name,
                  list.empty() ? "none" : list, meant ? ". Did you mean " + *meant + "?" : ""));
  error.option = "--least " + command.least;
  return error;
}

void search_repairs(const load::LoadedProgram& loaded, verify::Verdict& verdict) {
  if (verdict.outcome == verify::Outcome::proved) return;
  const Progress progress("searching repairs of " + loaded.source.name);
  optimise::add_repairs(
      verdict, optimise::find_repairs(loaded.source, loaded.options, loaded.program, verdict));
}

// Errors are on standard error already. A program that no run refutes is no failure.
spec::Result<void> draw_refutation(const PictureFlags& picture, const load::LoadedProgram& loaded,
                                   const verify::Verdict& verdict) {
  for (const verify::Obligation& o : verdict.obligations) {
    const auto& run = o.counterexample ? o.counterexample : o.other_choices;
    if (!run) continue;
    const auto drawn = refuting_run(loaded, {run->microbatches, run->events, run->members});
    if (!drawn.ok()) return drawn.errors();
    return said(write_picture(picture, {drawn.value().panel()}));
  }
  std::cerr << "ripeline: no run refutes " << loaded.program.name << ", so nothing is drawn\n";
  return {};
}

// The positions in the program of a schedule of PyTorch are dropped, since nobody wrote its text;
// its repairs are those of `check`.
void speak_of_schedule(const std::string& file, verify::Verdict& verdict) {
  if (verdict.outcome == verify::Outcome::proved) {
    std::cerr << fmt::format(
        "note: {}: proved for messages that have slots of their own; what PyTorch sends and "
        "receives is judged by `ripeline check`\n",
        file);
  }
  bool refuted_before = false;
  for (verify::Obligation& o : verdict.obligations) {
    o.span = {};
    if (o.outcome != verify::Outcome::refuted || refuted_before) continue;
    o.repairs_note = fmt::format("`ripeline check {} --fix FILE` looks for a repair.", file);
    refuted_before = true;
  }
}

void verify_one(const std::string& file, const VerifyCommand& command, Findings& findings) {
  if (asks_every_depth(command)) return verify_every_depth(file, command, findings);
  std::optional<spec::Source> source;
  const auto compiled = load_program(file, command.program, &source);
  if (!compiled.ok()) return findings.add_bad_input(file, source, compiled.errors());
  const load::LoadedProgram& loaded = compiled.value();
  if (const auto least = said(check_least(loaded.program, command)); !least.ok()) {
    return findings.add_bad_input(file, source, least.errors());
  }
  verify::Verdict verdict = [&] {
    const Progress progress("proving " + loaded.source.name, quicker_than(loaded.program));
    return verify::verify(loaded.program, {.solver_steps = command.steps});
  }();
  if (!command.certificate.empty() && !said(write_evidence(loaded, command, verdict)).ok()) {
    return findings.add_bad_input(file, source, {});
  }
  if (command.picture.wanted() && !draw_refutation(command.picture, loaded, verdict).ok()) {
    return findings.add_bad_input(file, source, {});
  }
  const bool schedule = loaded.form == load::InputForm::schedule;
  if (schedule) speak_of_schedule(file, verdict);
  if (!schedule && !command.no_repairs) search_repairs(loaded, verdict);
  findings.add(file, loaded, std::move(verdict));
}

int run(const VerifyCommand& command) {
  if (!command.certificate.empty() &&
      (command.files.size() > 1 || load::is_folder(command.files.front()))) {
    std::cerr << "ripeline: --certificate is for one FILE; give each its own folder\n";
    return bad_input;
  }
  if (command.picture.wanted() &&
      (command.files.size() > 1 || load::is_folder(command.files.front()) ||
       asks_every_depth(command))) {
    std::cerr << "ripeline: --picture is for one FILE and one number of ranks\n";
    return bad_input;
  }
  if (asks_every_depth(command) && (command.layouts || !command.least.empty())) {
    std::cerr << "ripeline: --layouts and --least are for one number of ranks, not for "
                 "-D ranks=any\n";
    return bad_input;
  }
  Findings findings(command);
  bool one = command.files.size() == 1;
  for (const std::string& file : command.files) {
    if (!load::is_folder(file)) {
      verify_one(file, command, findings);
      continue;
    }
    one = false;
    const load::ProgramsBelow below = load::programs_below(file);
    findings.add_skipped(below);
    for (const std::string& program : below.files) verify_one(program, command, findings);
    if (!said(below.read).ok()) findings.add_bad_input(file, std::nullopt, below.read.errors());
  }
  return findings.finish(one);
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("verify",
                                         "prove a program free of deadlock, within its memory, "
                                         "every task once: for every timing and count");
  auto options = std::make_shared<VerifyCommand>();
  command
      ->add_option("FILE", options->files,
                   std::string(kFileHelp) +
                       "; or a folder: every .ripe file and every schedule (CSV) below it")
      ->required();
  add_judged_options(*command, options->program);
  command->add_option("--format", options->format, "text, or json or sarif on standard output")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  command->add_flag("--no-times", options->no_times,
                    "leave the seconds out, so that two runs print the same");
  command->add_flag("--no-repairs", options->no_repairs,
                    "do not search what would repair a program that is refuted or unknown");
  command->add_flag("--deny-warnings", options->deny_warnings,
                    "a program with a warning fails as bad input does, whatever its verdict");
  command->add_option("--steps", options->steps, "limit of each solver query, in solver steps");
  command->add_flag("--layouts", options->layouts,
                    "of `dispatch in order`: judge its sends and receives for each layout of "
                    "communicators and each way in which kernels share a device");
  command
      ->add_option("--least", options->least,
                   "the smallest capacities of a resource, or slots of a channel or of `links`, "
                   "that are safe; sends: the fewest credits with which un-grouped sends of "
                   "`dispatch in order` are")
      ->type_name("NAME");
  command
      ->add_option("--certificate", options->certificate,
                   "write what the verdict rests on into this folder, for `ripeline recheck`")
      ->type_name("DIR");
  add_picture(*command, options->picture);
  command->footer(
      "A CSV is judged as the order in which its ranks compute, each message with a slot of its\n"
      "own; `ripeline check` judges its sends and receives as well.\n"
      "-D ranks=any proves a program for every number of ranks, where it can.\n"
      "Exit codes: 0 proved, 1 refuted, 3 unknown, 2 bad input, or a warning that is denied; of\n"
      "several files the worst, in the order 2, 1, 3, 0.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
