#include "spec/parse.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "spec/print.h"
#include "spec/scan.h"
#include "tests/spec/programs.h"

namespace ripeline::spec {
namespace {

std::string in_pipeline(const std::string& item) { return "pipeline p {\n  " + item + "\n}\n"; }

// An item, and the text that print() makes of it; empty if print() does not change the item.
struct Accepted {
  const char* text;
  const char* printed;
};
const Accepted kAccepted[] = {
    {"param ranks = 4;", ""},
    {"param x=-1+2*3;", "param x = -1 + 2 * 3;"},
    {"param min = 2;", ""},
    {"param order = 2;", ""},
    {"microbatches any;", ""},
    {"microbatches 8;", ""},
    {"microbatches 1..64;", "microbatches 1 .. 64;"},
    {"microbatches 1 ..< ranks;", ""},
    {"microbatches 8 .. 8;", "microbatches 8;"},
    {"microbatches any + 1;", ""},
    {"stages ranks;", ""},
    {"stages 2 * ranks;", ""},
    {"stages n - 1;", ""},
    {"stages n div 2;", ""},
    {"stages max(a, b);", ""},
    {"stages vision 2, text 1, llm n - 1;", ""},
    {"stages vision (n);", "stages vision n;"},
    {"edges vision -> llm, text->llm;", "edges vision -> llm, text -> llm;"},
    {"place s on s < ranks ? s : 2 * ranks - 1 - s;", ""},
    {"tensor_parallel 2 { agree by vote; }", ""},
    {"data_parallel 2*n;", "data_parallel 2 * n;"},
    {"op F {}", "op F { }"},
    {"op F forward { cost 1; needs F at prev; acquires a; }",
     "op F forward { cost 1;  needs F at prev;  acquires a; }"},
    {"op forward forward { }", ""},
    {"op W backward weight { }", ""},
    {"op R user \"re # balance\" { }", ""},
    {"op K once sequential { }", "op K sequential once { }"},
    {"op K sequential on copy_out when s > 0 and not r == 1 on m where m % 2 == 0 { }", ""},
    {"op K on m { }", ""},
    {"op K on m where m == 0 { }", ""},
    {"op B { acquires a 2 * x leaving y + 1;  acquires b (2);  releases c -x; }",
     "op B { acquires a 2 * x leaving y + 1;  acquires b 2;  releases c -x; }"},
    {"op B { needs F at prev via slots, F at prev via slots 2, F at next via fifo k of m - 1; }",
     ""},
    {"op B { needs F at here of all, G at prev via inbox, H at prev via rendezvous of all; }", ""},
    {"op B { needs F at (stages-1) via slots 2 of all, F at (s>0 ? s - 1 : (0)); }",
     "op B { needs F at (stages - 1) via slots 2 of all, F at (s > 0 ? s - 1 : 0); }"},
    {"op B { collectives 2;  cost 0.50 * input; }", ""},
    {"resource a per stage { }", ""},
    {"resource a per rank { unit \"MiB\"; capacity 2; }",
     "resource a per rank { capacity 2;  unit \"MiB\"; }"},
    {"channel inbox per stage { slots 8; }", ""},
    {"order o on r { }", ""},
    {"order o on r {\n    let w = min(r, 1);\n    F;\n    F@0 * w;\n    (F B@(c + 1)) * (w - 1);\n "
     "   (F);\n  }",
     ""},
    {"order o on r {\n    F@(0) * (w);\n  }", "order o on r {\n    F@0 * w;\n  }"},
    {"order o on r {\n    stream f = for g in 0 ..< n, c in 1 .. 2 : F@c * ceil(n / 2);\n    f * "
     "2;\n  }",
     ""},
    {"order o on r {\n    stream f { F * 2;  for g in 0 ..< n, c in 1 .. 2 { F@c;  (F B) * n; } "
     " B; }\n    f * 2;\n  }",
     ""},
    {"order o on r {\n    stream whole_order {\n      F * (2 * ranks - 1);\n      for group in 0 "
     "..< "
     "microbatches, c in 0 ..< chunks {\n        F@c;\n        (F B) * n;\n      }\n    }\n  }",
     ""},
    {"order zb from csv \"zb.csv\";", ""},
    {"hint h { prefer A, B;  rounds C;  fill W;  follow o;  notices;  patience 1.5;  yield 0.9; }",
     ""},
    {"hint h { follow o;  forecasts; }", ""},
    {"dispatch ready;", ""},
    {"dispatch ready by bf;", ""},
    {"dispatch in order o;", ""},
    {"assert peak a <= 2 * ranks;", ""},
    {"pair F, B;", ""},
};

TEST(Parse, accepts_every_item_and_prints_it) {
  for (const Accepted& c : kAccepted) {
    SCOPED_TRACE(c.text);
    const Source source{"test.ripe", in_pipeline(c.text)};
    const auto tree = parse(source);
    ASSERT_TRUE(tree.ok()) << render(source, tree.errors());
    EXPECT_EQ(print(tree.value()), in_pipeline(*c.printed != '\0' ? c.printed : c.text));
  }
}

// An item with a mistake; and the id, position (line 2, this column) and message of its diagnostic.
struct Rejected {
  const char* text;
  int column;
  const char* id;
  const char* message;
};
const Rejected kRejected[] = {
    {"param = 4;", 9, "parse-expected", "expected a name, found '='"},
    {"param x 4;", 11, "parse-expected", "expected '=', found '4'"},
    {"param x = ;", 13, "parse-expected", "expected a value, found ';'"},
    {"param x = 4 5;", 15, "parse-expected", "expected ';', found '5'"},
    {"param x = (4;", 15, "parse-expected", "expected ')', found ';'"},
    {"param x = 4 +;", 16, "parse-expected", "expected a value, found ';'"},
    {"param x = - ;", 15, "parse-expected", "expected a value, found ';'"},
    {"param x = a ? b;", 18, "parse-expected", "expected ':', found ';'"},
    {"param x = min(;", 17, "parse-expected", "expected a value, found ';'"},
    {"param x = min(a b);", 19, "parse-expected", "expected ',' or ')', found 'b'"},
    {"param x = med(a);", 13, "parse-unknown-function", "no function is called 'med'"},
    {"param x = floor(a, b);", 13, "parse-argument-count", "floor takes one number"},
    {"param x = a < b < c;", 19, "parse-chained-comparison", "comparisons do not chain"},
    {"param x = 1 + not a;", 17, "parse-not-in-operand", "`not` cannot stand here"},
    {"param x = 0x10;", 13, "parse-bad-number", "'0x10' is no number"},
    {"param x = 1.5.2;", 13, "parse-bad-number", "'1.5.2' is no number"},
    {"param x = 9223372036854775808;", 13, "parse-number-too-large",
     "'9223372036854775808' has too many digits"},
    {"param x = 0.00000000000000000001;", 13, "parse-number-too-large",
     "'0.00000000000000000001' has too many decimals"},
    {"param div = 1;", 9, "parse-expected", "expected a name, found 'div'"},
    {"microbatches;", 15, "parse-expected", "expected 'any', a number or a range, found ';'"},
    {"microbatches 1 - ;", 20, "parse-expected", "expected a value, found ';'"},
    {"microbatches 1 ...;", 20, "parse-expected", "expected a value, found '.'"},
    {"stages a 1, 2;", 15, "parse-expected",
     "expected a group: a name and a number of stages, found '2'"},
    {"edges a, b;", 10, "parse-expected", "expected '->', found ','"},
    {"place s in s;", 11, "parse-expected", "expected 'on', found 'in'"},
    {"tensor_parallel 2 { agree by luck; }", 32, "parse-expected",
     "expected 'intersection', 'vote', 'leader' or 'none', found 'luck'"},
    {"op F { needs F; }", 17, "parse-expected",
     "expected 'at' (here, prev, next or a stage), found ';'"},
    {"op F { needs F at home; }", 21, "parse-expected",
     "expected 'here', 'prev', 'next' or a stage in parentheses, found 'home'"},
    {"op F { needs F at 2; }", 21, "parse-expected",
     "expected 'here', 'prev', 'next' or a stage in parentheses, found '2'"},
    {"op F { needs F at (); }", 22, "parse-expected", "expected a value, found ')'"},
    {"op F { needs F at (s; }", 23, "parse-expected", "expected ')', found ';'"},
    {"data_parallel;", 16, "parse-expected", "expected a value, found ';'"},
    {"op F { needs F at prev via fifo; }", 34, "parse-expected", "expected a value, found ';'"},
    {"op F { needs F at prev by x; }", 26, "parse-expected",
     "expected 'via', 'of', ',' or ';', found 'by'"},
    {"op F { acquires a leaving; }", 28, "parse-expected", "expected a value, found ';'"},
    {"op R user rebalance { }", 13, "parse-expected",
     "expected a text in quotes, found 'rebalance'"},
    {"resource a { }", 14, "parse-expected", "expected 'per', found '{'"},
    {"resource a per stage { capacity 1; capacity 2; }", 38, "parse-repeated-clause",
     "a second 'capacity'"},
    {"channel c per stage { }", 25, "parse-expected", "expected 'slots', found '}'"},
    {"order o { }", 11, "parse-expected", "expected 'on' or 'from', found '{'"},
    {"order o on r { F B; }", 20, "parse-expected",
     "expected ';' (before it '@' or '*'; a count of several terms in parentheses), found 'B'"},
    {"order o on r { (F B; }", 22, "parse-expected", "expected an op or ')', found ';'"},
    {"order o on r { F@-1; }", 20, "parse-expected", "expected a number, a name or '(', found '-'"},
    {"order o on r { (); }", 19, "parse-expected", "expected an op, found ')'"},
    {"order o on r { stream f F; }", 27, "parse-expected", "expected '=' or '{', found 'F'"},
    {"order o on r { stream f { } }", 29, "parse-expected",
     "expected 'for', '(' or an op, found '}'"},
    {"order o on r { stream f { for g in 0 .. 1 : F; } }", 45, "parse-expected",
     "expected ',' or '{', found ':'"},
    {"hint h { rounds; }", 18, "parse-expected", "expected a name, found ';'"},
    {"dispatch often;", 12, "parse-expected", "expected 'ready' or 'in order', found 'often'"},
    {"assert peak a < 2;", 17, "parse-expected", "expected '<=', found '<'"},
    {"@;", 3, "parse-unknown-item", "no item begins with '@'"},
};

TEST(Parse, names_the_place_and_what_was_expected) {
  for (const Rejected& c : kRejected) {
    SCOPED_TRACE(c.text);
    const Source source{"test.ripe", in_pipeline(c.text)};
    const auto tree = parse(source);
    ASSERT_FALSE(tree.ok());
    ASSERT_EQ(tree.errors().size(), 1U) << render(source, tree.errors());
    const Diagnostic& error = tree.errors().front();
    EXPECT_EQ(error.id, c.id);
    EXPECT_EQ(error.message, c.message);
    const Position at = position_of(source, error.span.begin);
    EXPECT_EQ(at.line, 2);
    EXPECT_EQ(at.column, c.column);
  }
}

TEST(Parse, reads_the_example_programs_and_keeps_them_through_printing) {
  for (const std::string& text : testing_support::example_programs()) {
    SCOPED_TRACE(text);
    const Source source{"test.ripe", text};
    const auto tree = parse(source);
    ASSERT_TRUE(tree.ok()) << render(source, tree.errors());
    const std::string printed = print(tree.value());
    const Source again{"printed.ripe", printed};
    const auto second = parse(again);
    ASSERT_TRUE(second.ok()) << render(again, second.errors());
    EXPECT_TRUE(ast::same(tree.value(), second.value())) << printed;
    EXPECT_EQ(print(second.value()), printed);
  }
}

TEST(Parse, gives_spans_of_what_was_written) {
  const Source source{"test.ripe",
                      "pipeline p {\n  op F forward { cost (1 + 2) * 3;  needs F at prev; }\n}\n"};
  const auto tree = parse(source);
  ASSERT_TRUE(tree.ok());
  const auto written = [&](Span span) {
    return source.text.substr(span.begin, span.end - span.begin);
  };
  const ast::Item& item = tree.value().items.at(0);
  const auto& op = std::get<ast::Op>(item.value);
  EXPECT_EQ(written(item.span), "op F forward { cost (1 + 2) * 3;  needs F at prev; }");
  EXPECT_EQ(written(op.name.span), "F");
  EXPECT_EQ(written(op.header), "op F forward");
  EXPECT_EQ(written(op.clauses.at(0).span), "cost (1 + 2) * 3;");
  const Expr& cost = std::get<ast::Cost>(op.clauses.at(0).value).value;
  EXPECT_EQ(written(cost.span), "(1 + 2) * 3");
  EXPECT_EQ(written(cost.args.at(0).span), "(1 + 2)");
  EXPECT_EQ(written(std::get<ast::Needs>(op.clauses.at(1).value).items.at(0).span), "F at prev");
  EXPECT_EQ(written(tree.value().span) + "\n", source.text);
}

TEST(Parse, says_how_a_comment_begins_where_another_language_begins_one) {
  for (const char* text :
       {"// a\npipeline p { }", "/* a */ pipeline p { }",
        "pipeline p {\n  microbatches any;  // a\n}\n", "pipeline p {\n  stages 2  // a\n}\n",
        "pipeline p {\n  dispatch ready  /* a */ ;\n}\n"}) {
    SCOPED_TRACE(text);
    const auto tree = parse({"test.ripe", text});
    ASSERT_FALSE(tree.ok());
    EXPECT_EQ(tree.errors().front().hint, "a comment begins with # and ends with its line");
  }
}

TEST(Parse, reports_several_mistakes_in_one_run) {
  const Source source{
      "test.ripe",
      "pipeline p {\n  param a = ;\n  op F { cots 1; }\n  hnt h { }\n  param b = 2;\n}\n"};
  const auto tree = parse(source);
  ASSERT_FALSE(tree.ok());
  ASSERT_EQ(tree.errors().size(), 3U) << render(source, tree.errors());
}

TEST(Parse, takes_windows_line_ends_and_a_byte_order_mark) {
  const auto tree =
      parse({"test.ripe", "\xEF\xBB\xBFpipeline p {\r\n  param a = 1;  # one\r\n}\r\n"});
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(print(tree.value()), "pipeline p {\n  param a = 1;  # one\n}\n");
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Parse, refuses_deep_expressions_in_time_and_without_a_deep_stack) {
  constexpr int kMany = 100000;
  for (const std::string& value :
       {repeated("(", kMany), repeated("(", kMany) + "1" + repeated(")", kMany),
        repeated("min(", kMany), repeated("-", kMany) + "1", repeated("not ", kMany) + "1",
        repeated("a ? ", kMany), repeated("a ? b : ", kMany) + "1",
        repeated("1 + ", kMany) + "1"}) {
    const auto tree = parse({"test.ripe", in_pipeline("param x = " + value + ";")});
    ASSERT_FALSE(tree.ok());
    EXPECT_EQ(tree.errors().front().id, "parse-too-deep");
  }
  const std::string deepest = repeated("(", 199) + "1" + repeated(")", 199);
  EXPECT_TRUE(parse({"test.ripe", in_pipeline("param x = " + deepest + ";")}).ok());
}

// Parses an arbitrary text. An accepted text must not be changed by printing and parsing, and a
// rejected one must have an explanation.
void survive(const std::string& text) {
  const Source source{"test.ripe", text};
  const auto tree = parse(source);
  if (!tree.ok()) {
    ASSERT_FALSE(tree.errors().empty());
    ASSERT_LE(tree.errors().size(), 20U);
    for (const Diagnostic& error : tree.errors()) {
      ASSERT_TRUE(error.id.starts_with("parse-"));
      ASSERT_LE(error.span.begin, text.size());
    }
    ASSERT_NE(render(source, tree.errors()), "");
    return;
  }
  const std::string printed = print(tree.value());
  const auto again = parse({"printed.ripe", printed});
  ASSERT_TRUE(again.ok()) << printed;
  ASSERT_TRUE(ast::same(tree.value(), again.value())) << printed;
  ASSERT_EQ(print(again.value()), printed);
}

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

std::vector<std::string> lexemes_of(const std::string& text) {
  std::vector<std::string> lexemes;
  for (std::size_t at = skip_blanks(text, 0); at < text.size(); at = skip_blanks(text, at)) {
    lexemes.emplace_back(lexeme_at(text, at));
    at += lexemes.back().size();
  }
  return lexemes;
}

// Changes bytes of the text, or drops, repeats or moves a piece of it.
std::string mutated(std::string text, Random& random) {
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = below(random, text.size());
    const std::size_t length = below(random, 40);
    switch (below(random, 4)) {
      case 0:
        text[at] = static_cast<char>(below(random, 256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(below(random, text.size()), text.substr(at, length));
        break;
      default:
        text[at] = "{}();,#\"@*.-?:\n"[below(random, 15)];
        break;
    }
  }
  return text;
}

TEST(Parse, survives_mutated_programs) {
  constexpr std::uint64_t kSeed = 20250311;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  const auto& programs = testing_support::example_programs();
  for (int i = 0; i < 6000; ++i) {
    const std::string text = mutated(programs[below(random, programs.size())], random);
    SCOPED_TRACE(text);
    ASSERT_NO_FATAL_FAILURE(survive(text));
  }
}

TEST(Parse, survives_shuffled_lexemes_and_random_bytes) {
  constexpr std::uint64_t kSeed = 7;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  std::vector<std::string> lexemes;
  for (const std::string& program : testing_support::example_programs()) {
    for (std::string& lexeme : lexemes_of(program)) lexemes.push_back(std::move(lexeme));
  }
  for (int i = 0; i < 3000; ++i) {
    std::string text = "pipeline p {";
    for (std::size_t n = below(random, 60); n > 0; --n) {
      text += " " + lexemes[below(random, lexemes.size())];
    }
    SCOPED_TRACE(text);
    ASSERT_NO_FATAL_FAILURE(survive(text));
    std::string bytes;
    for (std::size_t n = below(random, 200); n > 0; --n) {
      bytes += static_cast<char>(below(random, i % 2 == 0 ? 256 : 128));
    }
    ASSERT_NO_FATAL_FAILURE(survive(bytes));
  }
}

}  // namespace
}  // namespace ripeline::spec
