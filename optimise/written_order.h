// An order that was found, as a program in the language.
//
// The program has the ops F, I and W with their costs, one resource `activation` per rank, an order
// with a part for each rank, and commits to it. Each lane runs its microbatches in turn. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimise/uniform.h"

namespace ripeline::optimise {

// The name of the order, and of the program.
inline constexpr const char* kWrittenOrder = "best";
inline constexpr const char* kWrittenProgram = "optimised";

// `unit`: how many of the problem's times are 1 in the program, whose costs may be decimals: a
// product of twos and fives. `comments`: lines for the top of the file. The order is legal, and its
// lanes are in turn.
[[nodiscard]] std::string program_text(const Uniform& problem, const FoundOrder& found,
                                       std::int64_t unit, const std::vector<std::string>& comments);

}  // namespace ripeline::optimise
