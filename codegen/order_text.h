// Writes the order that the dispatch commits to, follows or keeps room for as C++.
//
// The expressions, streams and repeats of an order become a function; an order from a file becomes
// a table. In an order that divides exactly numbers are core::Fraction, else std::int64_t. Private
// to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"

namespace ripeline::codegen {

// The function or table. It and write_order() require an order (dispatched_order()).
[[nodiscard]] std::string order_function(const Outline& outline);
// The member of Rules that writes the order.
[[nodiscard]] std::string write_order(const Outline& outline);
// Whether the order computes with core::Fraction.
[[nodiscard]] bool has_fractions(const Outline& outline);

}  // namespace ripeline::codegen
