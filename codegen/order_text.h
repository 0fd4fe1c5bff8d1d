// The order that the dispatch commits to, follows or keeps room for, as C++.
//
// Its expressions, streams and repeats become a function; one from a file becomes a table.
// Where an order divides exactly, its numbers are core::Fraction, else std::int64_t. Private to
// codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"

namespace ripeline::codegen {

// The function or the table. These two only of a dispatch that has an order (dispatched_order()).
[[nodiscard]] std::string order_function(const Outline& outline);
// The member of Rules that writes it down.
[[nodiscard]] std::string write_order(const Outline& outline);
// Whether it computes with core::Fraction.
[[nodiscard]] bool has_fractions(const Outline& outline);

}  // namespace ripeline::codegen
