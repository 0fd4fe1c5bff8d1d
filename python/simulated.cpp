#include "python/simulated.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "load/document.h"
#include "load/run.h"
#include "lower/facts.h"
#include "python/failure.h"
#include "simulate/run_program.h"
#include "simulate/traced.h"
#include "trace/write.h"

namespace ripeline::python {

Simulated::Simulated(std::shared_ptr<const load::LoadedProgram> loaded, int microbatches,
                     const load::TimeOptions& times)
    : Simulated(loaded, microbatches,
                value_of(load::timing_of(loaded->program, microbatches, times))) {}

Simulated::Simulated(std::shared_ptr<const load::LoadedProgram> loaded, int microbatches,
                     simulate::Timing timing)
    : loaded_(std::move(loaded)),
      microbatches_(microbatches),
      timing_(std::move(timing)),
      facts_(lower::facts_of(loaded_->program)),
      run_(simulate::run_program(loaded_->program, facts_.facts(), microbatches, timing_,
                                 {.record = &record_, .causes = true})) {
  if (!run_.status.ok()) throw Failure(run_.status);
}

simulate::ReportedRun Simulated::reported() const {
  return {loaded_->program, facts_.facts(), microbatches_, timing_, run_, record_};
}

std::string Simulated::text() const { return simulate::report_text(reported()); }

std::string Simulated::json() const {
  return load::document_text(simulate::report_json(reported()));
}

std::string Simulated::csv() const { return simulate::tasks_csv(reported()); }

std::vector<std::string> Simulated::notes() const {
  std::vector<std::string> notes = timing_.notes();
  for (std::string& note : load::group_notes(loaded_->program)) notes.push_back(std::move(note));
  return notes;
}

Drawing Simulated::drawing() const { return Drawing(value_of(load::run_of(reported()))); }

std::string Simulated::explain(const std::string& task) const {
  load::Run run = value_of(load::run_of(reported()));
  run.title = loaded_->source.name;
  return value_of(load::explained(run, task));
}

void Simulated::write_trace(const std::string& path) const {
  const trace::About about = simulate::about_of(reported());
  trace::Writer writer(path, about);
  writer.add(record_);
  if (const core::Status written = writer.finish(); !written.ok()) throw Failure(written);
}

}  // namespace ripeline::python
