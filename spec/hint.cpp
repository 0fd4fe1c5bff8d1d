#include "spec/hint.h"

namespace ripeline::spec {

core::Hint hint_of(const Program& program, int rank) {
  const Hint& hint = program.dispatch.hint;
  return {hint.rule,
          program.ops,
          program.lanes,
          program.first_lane(rank),
          program.first_lane(rank + 1),
          hint.places,
          hint.fill};
}

}  // namespace ripeline::spec
