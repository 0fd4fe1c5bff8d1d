// Turns a schedule of PyTorch into a program of the language, for every command except `check`.
//
// The file's order, `order … from csv`, is the program's order and its dispatch. Stages are placed
// as in check(). Ops are F and B, or F, I and W, or all four if the file has whole and split
// backwards; then `on m where` restricts B, I and W at each stage to the microbatches for which the
// file has them. Costs are params, named as in the library's schedules: f, b, i and w, with b = i +
// w if all occur; `together` is the time of the two tasks of an OVERLAP_F_B (together_i: of an F
// and an I, if the file overlaps both kinds). Messages follow from the needs of ops, so the
// communication of a compute_comms file is left out, as are UNSHARD, RESHARD and REDUCE_GRAD. Pure;
// accepts any text.
#pragma once

#include <string>
#include <vector>

#include "pytorch/check.h"

namespace ripeline::pytorch {

struct ScheduleProgram {
  std::string text;                // in the language's syntax
  std::string order;               // the content of kScheduleFile, which `text` names
  std::vector<std::string> notes;  // on missing tasks and on parts of the file left out
};
inline constexpr const char* kScheduleFile = "schedule.csv";

// Errors: check-options, and each finding of check() that makes a program impossible, at its cell
// and with the id `csv-` and the rule's name. Missing tasks and deadlocks are no errors: a proof or
// a run shows them.
[[nodiscard]] spec::Result<ScheduleProgram> program_of(const spec::Source& csv,
                                                       const CheckOptions& options);

// Turns the verdict on the program into one on the schedule: removes positions, as no user wrote
// the program's text, and sets `repairs_note` at the first refuted obligation.
void speak_of_schedule(verify::Verdict& verdict, const std::string& repairs_note);

// The place of a finding in the file.
[[nodiscard]] spec::Span span_of(const std::string& bytes, const CheckFinding& finding);

}  // namespace ripeline::pytorch
