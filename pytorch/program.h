// Turns a schedule of PyTorch into a program of the language, which every command but `check` runs.
//
// The file's order, `order … from csv`, is the program's order and its dispatch. Stages are placed
// as in check(). Ops are F and B, or F, I and W, or all four if the file has whole and split
// backwards: then B, I and W are each restricted to the microbatches that the file has of them at
// the stage, by `on m where`. Costs are params with the names that the library's schedules use: f,
// b, i and w, with b = i + w if all occur; `together` is the time of the two tasks of an
// OVERLAP_F_B (together_i: of an F and an I, if the file overlaps both kinds). Messages follow from
// the needs of ops: the communication of a compute_comms file is left out, and so are UNSHARD,
// RESHARD and REDUCE_GRAD. Pure; accepts any text.
#pragma once

#include <string>
#include <vector>

#include "pytorch/check.h"

namespace ripeline::pytorch {

struct ScheduleProgram {
  std::string text;                // in the language's syntax
  std::string order;               // the content of the file that it names, kScheduleFile
  std::vector<std::string> notes;  // on missing tasks and parts of the file left out
};
inline constexpr const char* kScheduleFile = "schedule.csv";

// Errors: check()'s findings that leave the cells without a program, each at its cell, with the
// rule's name after `csv-`; and check-options. Missing tasks and deadlocks are no errors: a proof
// or a run shows them.
[[nodiscard]] spec::Result<ScheduleProgram> program_of(const spec::Source& csv,
                                                       const CheckOptions& options);

// The place of a finding in the file.
[[nodiscard]] spec::Span span_of(const std::string& bytes, const CheckFinding& finding);

}  // namespace ripeline::pytorch
