#include "spec/cost.h"

#include <utility>

#include <fmt/format.h>

namespace ripeline::spec {

Cost Cost::by_microbatch(Expr expression) { return {.expression = std::move(expression)}; }

Result<Rational> Cost::of(int microbatch) const {
  if (!varies()) return each;
  const Result<Rational> value =
      evaluate(*expression, [microbatch](std::string_view name) -> std::optional<Rational> {
        return name == "m" ? std::optional(Rational{microbatch, 1}) : std::nullopt;
      });
  if (!value.ok() || value.value().numerator >= 0) return value;
  return Diagnostic{"cost-negative", fmt::format("the cost {} is negative", print(*expression)),
                    "a cost is 0 or more", expression->span};
}

}  // namespace ripeline::spec
