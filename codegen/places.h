// What the places of a hint list, in the generated text.
//
// A chunk that is not the same on all ranks is read from a table of the class: kChunk_2, for the
// third of the hint's places, those of `fill` counted on. Private to codegen/. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "codegen/outline.h"

namespace ripeline::codegen {

// Of a place at one chunk: which one it is on `rank`; with an empty text, the table's name.
[[nodiscard]] std::string place_chunk(const spec::Program& program, const spec::HintPlace& place,
                                      const std::string& rank);
// F, F@1, F@kChunk_2
[[nodiscard]] std::string place_name(const spec::Program& program, const spec::HintPlace& place);
// What offers its task: offer(ops::kF, allowed).
[[nodiscard]] std::string place_offer(const Outline& outline, const spec::HintPlace& place);
// The tables of chunks, as members of the class.
[[nodiscard]] std::vector<std::string> chunk_tables(const spec::Program& program);

// The ops that have a lane which neither a place nor `fill` lists, in order of declaration.
[[nodiscard]] std::vector<int> unlisted_ops(const spec::Program& program);
// What offers a task of such an op, at the chunks that are not the hint's to fill with.
[[nodiscard]] std::string unlisted_offer(const Outline& outline, int op);
// The helper that this calls; empty if it is not called.
[[nodiscard]] std::string offer_unlisted(const Outline& outline, const std::string& lane);

// What a start of `lane`, by op, makes of the round.
[[nodiscard]] std::string turn_of(const spec::Program& program, int op);

// What is passed to the arbiter's offer functions beside the op or the lane.
[[nodiscard]] std::string offer_arguments(const Outline& outline);
[[nodiscard]] std::string offer_parameters(const Outline& outline);

}  // namespace ripeline::codegen
