// The reports of mistakes that the parser finds: which diagnostic, where, and what to do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "spec/ast.h"

namespace ripeline::spec {

// The report that the text at `where` is not as `wanted` describes, such as "'a' or 'b' or a name".
// `block` is the beginning of the item or pipeline that is therefore incomplete.
[[nodiscard]] Diagnostic expected(const Source& source, std::string wanted, std::size_t where,
                                  std::size_t block);
[[nodiscard]] Diagnostic unknown_item(const Source& source, std::size_t at);
[[nodiscard]] Diagnostic no_pipeline(const Source& source, std::size_t at);
[[nodiscard]] Diagnostic text_after_end(const Source& source, std::size_t at);
// The report of a statement of another language where a step of an order may begin, with the form
// to use; nullopt if there is no such statement. An op may have such a word as its name.
[[nodiscard]] std::optional<Diagnostic> foreign_statement(std::string_view text, std::size_t at);

// The value of a number's text. Errors: parse-bad-number, parse-number-too-large.
[[nodiscard]] Result<Rational> value_of(const ast::Name& literal);

}  // namespace ripeline::spec
