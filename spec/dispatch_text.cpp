#include "spec/dispatch_text.h"

namespace ripeline::spec {

std::string dispatch_text(const Program& program) {
  const Dispatch& dispatch = program.dispatch;
  const auto order = [&](int id) { return at(program.orders, id).name; };
  if (dispatch.in_order) return "in order " + order(dispatch.order);
  return "ready" + (dispatch.hint.name.empty() ? "" : " by " + dispatch.hint.name) +
         (dispatch.keeps < 0 ? "" : " keeping " + order(dispatch.keeps));
}

}  // namespace ripeline::spec
