#include "cli/run_command.h"

#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/progress.h"
#include "lower/facts.h"
#include "simulate/run_program.h"
#include "simulate/traced.h"
#include "trace/write.h"
#include "verify/verify.h"

namespace ripeline::cli {

std::string notes_of(const PreparedRun& prepared, Groups groups) {
  const spec::Program& program = prepared.program();
  const auto& verdict = prepared.verdict;
  std::string text;
  for (const std::string& note : prepared.timing.notes()) text += "note: " + note + "\n";
  const int members = program.tensor_parallel.members;
  const int replicas = program.data_parallel.replicas;
  if (groups == Groups::all_run && (members > 1 || replicas > 1)) {
    text += fmt::format("note: of {} processes, this is what those of member 0 of replica 0 did\n",
                        program.ranks * members * replicas);
  }
  if (groups == Groups::as_one) {
    for (const std::string& note : load::group_notes(program)) text += "note: " + note + "\n";
  }
  const std::string count =
      fmt::format("{} microbatch{}", prepared.microbatches, prepared.microbatches == 1 ? "" : "es");
  if (verdict && verdict->outcome != verify::Outcome::proved) {
    text += fmt::format(
        "note: {} is {} for {}; this is one of its runs, and others may end otherwise\n",
        program.name, verdict->outcome == verify::Outcome::refuted ? "refuted" : "not proved",
        count);
  } else if (verdict) {
    text += fmt::format("note: {} is proved for {}, for every timing\n", program.name, count);
  } else if (!verdict) {
    text += "note: not verified; this is one run, under one timing (--verify judges all)\n";
  }
  return text;
}

int write_run(const RunCommand& command, const simulate::ReportedRun& reported,
              const std::string& more_text, const nlohmann::json& more_json) {
  if (!command.trace.empty()) {
    const trace::About about = simulate::about_of(reported);
    trace::Writer writer(command.trace, about);
    writer.add(reported.record);
    if (const core::Status s = writer.finish(); !s.ok()) return say_failed(s.message());
  }
  if (!said(write_picture_of(command.picture, reported)).ok()) return bad_input;
  if (!command.csv.empty() && !said(write_file(command.csv, simulate::tasks_csv(reported))).ok()) {
    return bad_input;
  }
  if (command.format == "json") {
    nlohmann::json json = simulate::report_json(reported);
    json.update(more_json);
    print_json(json);
  } else {
    std::cout << simulate::report_text(reported) << more_text;
  }
  return reported.run.stuck ? refuted : ok;
}

spec::Result<PreparedRun> prepare(const RunCommand& command) {
  auto loaded = load_program(command.file, load::of_step(command.program, command.microbatches));
  if (!loaded.ok()) return loaded.errors();
  PreparedRun prepared;
  prepared.loaded = std::move(loaded).value();
  const spec::Program& program = prepared.program();
  const auto count = said(load::count_of_step(command.microbatches, program));
  if (!count.ok()) return count.errors();
  prepared.microbatches = count.value();
  auto timing = said(load::timing_of(program, prepared.microbatches, command.times));
  if (!timing.ok()) return timing.errors();
  prepared.timing = std::move(timing).value();
  if (command.verify) {
    const Progress progress("verifying " + program.name);
    prepared.verdict = verify::verify(load::for_one_count(program, prepared.microbatches));
  }
  const bool proved = prepared.verdict && prepared.verdict->proved.has_value();
  prepared.facts = proved ? lower::facts_of(*prepared.verdict->proved) : lower::facts_of(program);
  return prepared;
}

simulate::RunReport simulate_once(const PreparedRun& prepared, trace::Record& record) {
  return simulate::run_program(prepared.program(), prepared.facts->facts(), prepared.microbatches,
                               prepared.timing, {.record = &record, .causes = true});
}

void add_run_command(CLI::App& command, RunCommand& options, const std::string& unit_help) {
  command.add_option("FILE", options.file, kFileHelp)->required();
  add_program_options(command, options.program);
  add_microbatches(
      command, options.microbatches,
      "microbatches of the step; not needed where the program is for one number alone, "
      "as a CSV is");
  add_times(command, options.times, unit_help);
  command.add_flag("--verify", options.verify,
                   "judge it first, for every timing of a step of -m microbatches");
  command.add_option("--trace", options.trace,
                     "write what ran when: a file for chrome://tracing and Perfetto");
  add_picture(command, options.picture);
  command.add_option("--csv", options.csv, "write a line for each task, or - for standard output");
  command.add_option("--format", options.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace ripeline::cli
