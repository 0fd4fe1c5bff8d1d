#include "spec/sequential.h"

#include <variant>

#include <fmt/format.h>

#include "spec/print.h"

namespace ripeline::spec {
namespace {

std::string kind_of(const ast::Op& op) {
  std::string kind;
  for (const ast::Name& word : op.kind) kind += (kind.empty() ? "" : " ") + word.text;
  return kind;
}

}  // namespace

Result<std::string> sequential(const ast::Pipeline& pipeline, const std::set<std::string>& kinds) {
  ast::Pipeline tree = pipeline;
  std::set<std::string> missing = kinds;
  for (ast::Item& item : tree.items) {
    auto* const op = std::get_if<ast::Op>(&item.value);
    if (op == nullptr || !kinds.contains(kind_of(*op))) continue;
    op->sequential = true;
    missing.erase(kind_of(*op));
  }
  if (missing.empty()) return print(tree);
  return Diagnostic{.id = "sequential-kind",
                    .message = fmt::format("no op has the kind `{}`", *missing.begin()),
                    .hint = "the kind stands behind the op's name, as in `op F forward`",
                    .span = tree.name.span};
}

}  // namespace ripeline::spec
