// A schedule of PyTorch as a program of the language: what every command but `check` runs of it.
//
// The file's order is the program's, `order … from csv`, and its dispatch. Stages are placed as
// check() places them. Ops are F and B, or F, I and W, or all four where the file has whole and
// split backwards: then each of B, I and W is for the microbatches that the file has of it at the
// stage, `on m where`. Costs are params of the names that the library's schedules use: f, b, i and
// w, and b is i + w where there are both; `together` is what the two tasks of an OVERLAP_F_B take
// (together_i: an F and an I, where the file overlaps both kinds). What is sent is what the ops
// need of each other: the communication of a compute_comms file is left out, and so are UNSHARD,
// RESHARD and REDUCE_GRAD. Pure; any text will do.
#pragma once

#include <string>
#include <vector>

#include "pytorch/check.h"

namespace ripeline::verify {

struct ScheduleProgram {
  std::string text;                // in the language
  std::string order;               // the file that it names, kScheduleFile
  std::vector<std::string> notes;  // on missing tasks and parts of the file left out
};
inline constexpr const char* kScheduleFile = "schedule.csv";

// Errors: what check() finds that leaves the cells without a program, each at its cell, with
// `csv-` before the name of the rule; and check-options. That tasks are missing or deadlock is no
// error: it is for a proof or a run to show.
[[nodiscard]] spec::Result<ScheduleProgram> program_of(const spec::Source& csv,
                                                       const CheckOptions& options);

// The place of a finding in the file.
[[nodiscard]] spec::Span span_of(const std::string& bytes, const CheckFinding& finding);

}  // namespace ripeline::verify
