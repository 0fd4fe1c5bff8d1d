#include "cli/verify_input.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "certificates/folder.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "load/judged.h"
#include "load/run.h"
#include "optimise/least.h"
#include "spec/render.h"
#include "verify/every_depth.h"
#include "verify/report.h"
#include "wire/report.h"

namespace ripeline::cli {
namespace {

// A sentence for Progress that names a quicker proof; empty if none is known. For a committed
// order, each count of microbatches is one more graph. For a ready dispatch, the time depends on
// the number of ranks and not on the counts; a proof for any number of ranks avoids this.
std::string quicker_than(const spec::Program& program) {
  const bool one_count = program.microbatches.max == program.microbatches.min;
  if (program.dispatch.in_order) {
    return one_count ? "" : "One count of microbatches is proved sooner: -m 16, for example.";
  }
  const bool has_ranks = std::any_of(program.params.begin(), program.params.end(),
                                     [](const auto& param) { return param.first == "ranks"; });
  if (!has_ranks) return "";
  return "Fewer ranks are proved sooner, and so is every number of them at once, where all stages "
         "look alike: -D ranks=any.";
}

// Prints the answers to --layouts and --least, or adds them to `document`; keeps the exit code.
void add_answers(const spec::Program& program, const VerifyFlags& flags, nlohmann::json* document) {
  if (flags.layouts) {
    const wire::LayoutTable table = wire::judge_layouts(program);
    if (document == nullptr) std::cout << wire::layouts_text(table);
    if (document != nullptr) (*document)["layouts"] = wire::layouts_json(table);
  }
  if (flags.least.empty()) return;
  const Progress progress("the least " + flags.least + " of " + program.source_name);
  const optimise::Least least =
      optimise::least_of(program, flags.least, {.solver_steps = flags.steps});
  if (document == nullptr) std::cout << optimise::least_text(flags.least, least);
  if (document != nullptr) (*document)["least"][flags.least] = optimise::least_json(least);
}

std::size_t add(const std::string& file, const load::LoadedProgram& loaded, verify::Verdict verdict,
                const VerifyFlags& flags, Findings& findings) {
  const spec::Source& source = loaded.source;
  const spec::Program& program = loaded.program;
  const spec::Diagnostics warnings = load::warnings_of(loaded);
  std::cerr << spec::render(source, warnings, spec::Severity::warning);
  findings.add(exit_code_of(verdict.outcome));
  if (flags.no_times) load::leave_out_times(verdict);
  if (findings.format() == Format::json) {
    nlohmann::json document = load::verdict_json(loaded, verdict);
    add_answers(program, flags, &document);
    findings.add_document(file, std::move(document));
  } else if (findings.format() == Format::sarif) {
    findings.sarif().add_verdict(file, source, program, verdict);
    findings.sarif().add_warnings(file, source, program, warnings);
  } else {
    std::cout << verify::report_text(program, source, verdict);
    add_answers(program, flags, nullptr);
  }
  return warnings.size();
}

std::size_t refuse(const std::string& file, const spec::Source* source,
                   const spec::Diagnostics& errors, Findings& findings) {
  findings.add_bad_input(file, source, errors);
  return 0;
}

std::size_t verify_every_depth(const std::string& file, const VerifyFlags& flags,
                               Findings& findings) {
  load::Reading reading;
  const auto read = load::read_tree(file, flags.program, &reading);
  if (!read.ok()) {
    say_read(reading, read.errors());
    return refuse(file, reading.source(), read.errors(), findings);
  }
  const auto& [source, tree, options] = read.value();
  auto found = [&] {
    const Progress progress("proving " + source.name);
    return verify::verify_every_depth(tree, source, options, {.solver_steps = flags.steps});
  }();
  if (!found.ok()) {
    std::cerr << spec::render(source, found.errors());
    return refuse(file, &source, found.errors(), findings);
  }
  verify::DepthVerdict depth = std::move(found).value();
  if (!flags.certificate.empty()) {
    const Progress progress("writing what the proof rests on");
    const certificates::Files files =
        certificates::certificate_of(source, tree, options, depth, RIPELINE_VERSION, flags.steps);
    if (!said(certificates::write_certificate(flags.certificate, files)).ok()) {
      return refuse(file, &source, {}, findings);
    }
  }
  return add(file, {source, std::move(depth.sample), options, load::InputForm::program},
             std::move(depth.verdict), flags, findings);
}

// Writes the certificate and the picture that were asked for. False if writing fails. If no run
// refutes the program, there is no picture, and that is not a failure.
bool write_evidence(const load::LoadedProgram& loaded, const verify::Verdict& verdict,
                    const VerifyFlags& flags) {
  if (!flags.certificate.empty()) {
    const certificates::Files files = certificates::certificate_of(
        loaded.source, loaded.options, loaded.program, verdict, RIPELINE_VERSION);
    if (!said(certificates::write_certificate(flags.certificate, files)).ok()) return false;
  }
  if (!flags.picture.wanted()) return true;
  const auto run = verify::recorded_run(verdict);
  if (!run) {
    std::cerr << "ripeline: no run refutes " << loaded.program.name << ", so nothing is drawn\n";
    return true;
  }
  const auto drawn = said(load::refuting_run(loaded, *run));
  return drawn.ok() && said(write_picture(flags.picture, {drawn.value().panel()})).ok();
}

// Adds repairs to the verdict; for a schedule, only names `ripeline check --fix`, which seeks one.
void add_repairs(const std::string& file, const load::LoadedProgram& loaded,
                 const VerifyFlags& flags, verify::Verdict& verdict) {
  const bool proved = verdict.outcome == verify::Outcome::proved;
  if (proved && loaded.form == load::InputForm::schedule) {
    std::cerr << fmt::format(
        "note: {}: proved for messages that have slots of their own; what PyTorch sends and "
        "receives is judged by `ripeline check`\n",
        file);
  }
  const Progress progress("searching repairs of " + loaded.source.name);
  load::add_repairs(loaded, file, !flags.no_repairs, verdict);
}

}  // namespace

std::size_t verify_input(const std::string& file, const VerifyFlags& flags, Findings& findings) {
  if (load::for_every_rank(flags.program)) return verify_every_depth(file, flags, findings);
  load::Reading reading;
  const auto read = load::read_program(file, flags.program, &reading);
  say_read(reading, read);
  if (!read.ok()) return refuse(file, reading.source(), read.errors(), findings);
  const load::LoadedProgram& loaded = read.value();
  if (!flags.least.empty()) {
    if (const auto least = optimise::check_least(loaded.program, flags.least); !least.ok()) {
      const spec::Diagnostics errors = about("--least " + flags.least, least.errors());
      say_failed(errors);
      return refuse(file, reading.source(), errors, findings);
    }
  }
  verify::Verdict verdict = [&] {
    const Progress progress("proving " + loaded.source.name, quicker_than(loaded.program));
    return verify::verify(loaded.program, {.solver_steps = flags.steps});
  }();
  if (!write_evidence(loaded, verdict, flags)) {
    return refuse(file, reading.source(), {}, findings);
  }
  add_repairs(file, loaded, flags, verdict);
  return add(file, loaded, std::move(verdict), flags, findings);
}

}  // namespace ripeline::cli
