// The parser's report of a mistake: which diagnostic, where, and what to do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "spec/ast.h"

namespace ripeline::spec {

// At `where` something else stands than what `wanted` describes, in words: "'a' or 'b' or a name".
// `block` is where the item or pipeline began that is then not complete.
[[nodiscard]] Diagnostic expected(const Source& source, std::string wanted, std::size_t where,
                                  std::size_t block);
[[nodiscard]] Diagnostic unknown_item(const Source& source, std::size_t at);
[[nodiscard]] Diagnostic no_pipeline(const Source& source, std::size_t at);
[[nodiscard]] Diagnostic text_after_end(const Source& source, std::size_t at);
// Where a step of an order may begin: a statement of other languages that an order has not, and how
// it is written here. An op may have such a word for a name.
[[nodiscard]] std::optional<Diagnostic> foreign_statement(std::string_view text, std::size_t at);

// The value of a number as written. Errors: parse-bad-number, parse-number-too-large.
[[nodiscard]] Result<Rational> value_of(const ast::Name& literal);

}  // namespace ripeline::spec
