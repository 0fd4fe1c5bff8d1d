// Parsing undoes printing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "proptests/ast_generator.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "spec/scan.h"

namespace ripeline::proptests {
namespace {

using spec::Source;
using spec::ast::Pipeline;

Pipeline parsed(const std::string& text) {
  const Source source{"printed.ripe", text};
  auto tree = spec::parse(source);
  if (!tree.ok()) RC_FAIL(spec::render(source, tree.errors()) + text);
  return std::move(tree).value();
}

RC_GTEST_PROP(Print, parsing_what_was_printed_gives_the_same_tree, ()) {
  const Pipeline tree = *any_pipeline();
  RC_ASSERT(spec::ast::same(parsed(spec::print(tree)), tree));
}

RC_GTEST_PROP(Print, printing_what_was_parsed_gives_the_same_text, ()) {
  const std::string text = spec::print(*any_pipeline());
  RC_ASSERT(spec::print(parsed(text)) == text);
}

RC_GTEST_PROP(Print, an_expression_keeps_its_tree, ()) {
  const spec::Expr expr = *any_expr(6);
  const Pipeline tree = parsed("pipeline p { param x = " + spec::print(expr) + "; }");
  RC_ASSERT(spec::same(std::get<spec::ast::Param>(tree.items.at(0).value).value, expr));
}

// The program with comments and line ends at random places between its lexemes.
std::string strewn(const std::string& text) {
  std::string out;
  for (std::size_t at = spec::skip_blanks(text, 0); at < text.size();
       at = spec::skip_blanks(text, at)) {
    const std::string_view lexeme = spec::lexeme_at(text, at);
    out += lexeme;
    at += lexeme.size();
    switch (*rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 12))) {
      case 0:
        out += " #" + *any_comment_text() + "\n";
        break;
      case 1:
        out += "\n#" + *any_comment_text() + "\n";
        break;
      case 2:
        out += "\n\n  #" + *any_comment_text() + "\n\n";
        break;
      case 3:
        out += "\n\n";
        break;
      default:
        out += " ";
        break;
    }
  }
  return out;
}

RC_GTEST_PROP(Print, keeps_the_tree_and_all_comments_in_order_wherever_they_stand, ()) {
  const std::string text = strewn(spec::print(*any_pipeline()));
  const Pipeline tree = parsed(text);
  const std::string printed = spec::print(tree);
  const Pipeline again = parsed(printed);
  RC_ASSERT(spec::ast::same(again, tree));
  RC_ASSERT(spec::print(again) == printed);
}

}  // namespace
}  // namespace ripeline::proptests
