#include "spec/print.h"

#include <gtest/gtest.h>

#include <string>

#include "spec/parse.h"

namespace ripeline::spec {
namespace {

// Expects that `ripeline format` turns the text into `expected`, and does not change `expected`.
void expect_formatted(const std::string& text, const std::string& expected) {
  const Source source{"test.ripe", text};
  const auto tree = parse(source);
  ASSERT_TRUE(tree.ok()) << render(source, tree.errors());
  EXPECT_EQ(print(tree.value()), expected);
  const auto again = parse({"again.ripe", expected});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(print(again.value()), expected);
  EXPECT_TRUE(ast::same(tree.value(), again.value()));
}

TEST(Print, puts_one_item_on_a_line) {
  expect_formatted("pipeline p{param a=1;param b=2;op F forward{cost 1;}hint h{rounds B,F;}}",
                   R"(pipeline p {
  param a = 1;
  param b = 2;
  op F forward { cost 1; }
  hint h { rounds B, F; }
}
)");
}

TEST(Print, breaks_a_block_that_is_wider_than_100_columns) {
  expect_formatted(
      "pipeline p {\n"
      "op F forward { cost 1; needs F at prev; acquires activation leaving chunks - 1 - chunk; "
      "releases x; }\n"
      "op F forward { cost 1; needs F at prev; acquires activation leaving chunks - 1 - chunk; "
      "releases abcdef; }\n"
      "}",
      R"(pipeline p {
  op F forward {
    cost 1;
    needs F at prev;
    acquires activation leaving chunks - 1 - chunk;
    releases x;
  }
  op F forward {
    cost 1;
    needs F at prev;
    acquires activation leaving chunks - 1 - chunk;
    releases abcdef;
  }
}
)");
}

TEST(Print, keeps_a_block_of_exactly_100_columns) {
  const std::string line =
      "  op F forward { cost 1;  needs F at prev;  acquires activation leaving chunks - chunk;  "
      "cost 100; }";
  ASSERT_EQ(line.size(), 100U);
  expect_formatted("pipeline p {\n" + line + "\n}\n", "pipeline p {\n" + line + "\n}\n");
}

TEST(Print, fills_the_lines_of_what_stands_for_one_rank) {
  expect_formatted(
      "pipeline p{order o on r{rank 0{}rank (1+1){F;(F B)*3;}rank "
      "1{F*1;F*2;B*3;F*4;B*5;F*6;B*7;F*8;"
      "B*9;F*10;B*11;F*12;(B F)*13;B;# last\nF; B;\n# before F\nF*2;B*2;}}}",
      R"(pipeline p {
  order o on r {
    rank 0 { }
    rank (1 + 1) { F;  (F B) * 3; }
    rank 1 {
      F * 1;  F * 2;  B * 3;  F * 4;  B * 5;  F * 6;  B * 7;  F * 8;  B * 9;  F * 10;  B * 11;
      F * 12;  (B F) * 13;  B;  # last
      F;  B;
      # before F
      F * 2;  B * 2;
    }
  }
}
)");
}

TEST(Print, keeps_single_empty_lines_between_items) {
  expect_formatted("pipeline p {\n\n\n  param a = 1;\n\n\n\n  param b = 2;\n  param c = 3;\n\n}\n",
                   R"(pipeline p {
  param a = 1;

  param b = 2;
  param c = 3;
}
)");
}

TEST(Print, keeps_comments_where_they_stood) {
  expect_formatted(R"(# Before.

# Again.
pipeline p {   # behind the head
# about a
param a = 1;   # behind a

  # alone

  op F forward {   # behind a header
    cost 1;        # behind a clause
    # between clauses
    needs F at prev;
    # last in a block
  }
  order o on r {
    # in an order
    F;

    # after a gap
    B;
  } # behind a block
  # last
} # behind the end
# after the end
)",
                   R"(# Before.

# Again.
pipeline p {  # behind the head
  # about a
  param a = 1;  # behind a

  # alone

  op F forward {  # behind a header
    cost 1;  # behind a clause
    # between clauses
    needs F at prev;
    # last in a block
  }
  order o on r {
    # in an order
    F;

    # after a gap
    B;
  }  # behind a block
  # last
}  # behind the end
# after the end
)");
}

TEST(Print, keeps_all_comments_of_what_becomes_one_line) {
  expect_formatted(R"(pipeline p {
  op B {
    needs F at here,  # one
          # two
          B at next;  # three
  }
  param a =   # four
    1;        # five
  param b =
    # six
    2;        # seven
}
)",
                   R"(pipeline p {
  op B {
    needs F at here, B at next;  # one
    # two
    # three
  }
  param a = 1;  # four
  # five
  param b = 2;
  # six
  # seven
}
)");
}

TEST(Print, keeps_text_in_strings_and_comments_as_it_is) {
  expect_formatted("pipeline p {\n  op R user \"a # b\" { }  #no blank, Umlaut \xC3\xA4\n}\n",
                   "pipeline p {\n  op R user \"a # b\" { }  #no blank, Umlaut \xC3\xA4\n}\n");
}

TEST(Print, prints_trees_that_were_never_text) {
  ast::Pipeline tree;
  tree.name.text = "made";
  tree.items.push_back({ast::Param{{"ranks", {}}, Expr::number(4)}, false, {}});
  tree.comments.push_back({" made by hand", true, false, {}});
  EXPECT_EQ(print(tree), "# made by hand\npipeline made {\n  param ranks = 4;\n}\n");
}

TEST(Print, tells_trees_apart_by_more_than_spans) {
  const auto tree = [](const std::string& item) {
    return parse({"test.ripe", "pipeline p { " + item + " }"}).value();
  };
  EXPECT_TRUE(ast::same(tree("op F { cost 1; }"), tree("op  F {  cost  (1) ; }")));
  EXPECT_FALSE(ast::same(tree("op F { cost 1; }"), tree("op F { cost 2; }")));
  EXPECT_FALSE(ast::same(tree("op F { cost 1; }"), tree("op F { collectives 1; }")));
  EXPECT_FALSE(ast::same(tree("op F { }"), tree("op F once { }")));
  EXPECT_FALSE(ast::same(tree("dispatch ready;"), tree("dispatch ready by a;")));
  EXPECT_FALSE(ast::same(tree("pair F, B;"), tree("pair F, B { cost 2; }")));
}

}  // namespace
}  // namespace ripeline::spec
