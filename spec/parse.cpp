// The grammar (Boost.Spirit X3), and the reports of its failures. The external interface is
// parse().
//
// Each construct of the tree has a rule, which fills the construct's node by actions. The first
// word tells which construct it is, and after that word everything is expected (`>`); so nothing is
// tried twice and the place of a failure is exact. Items are parsed one by one: after a failure is
// recorded, the next item is parsed.
//
// This file is long, since it has the whole grammar and no other file includes Boost.
//
// Names are those of the language, and those of X3 where X3 requires them.
// NOLINTBEGIN(readability-identifier-naming)
#include "spec/parse.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <boost/spirit/home/x3.hpp>

#include "spec/infix.h"
#include "spec/mistake.h"
#include "spec/scan.h"

namespace ripeline::spec {
namespace {

namespace x3 = boost::spirit::x3;
using Cursor = const char*;

// A mistake that the actions of the grammar find.
struct Failure {
  Diagnostic error;
};

// The state that the parsers share, beside their input.
struct State {
  std::string_view text;
  int depth = 0;  // nesting of parentheses, calls and conditionals
  [[nodiscard]] std::size_t offset(Cursor p) const {
    return static_cast<std::size_t>(p - text.data());
  }
};
struct StateTag {};

template <class Context>
State& state_of(const Context& context) {
  return x3::get<StateTag>(context);
}

// ---- Parsers of one lexeme, whose attribute is the text and span of the lexeme. A parser that
// fails does not move, so that failures keep their position.

struct Blanks : x3::parser<Blanks> {
  using attribute_type = x3::unused_type;
  [[maybe_unused]] static constexpr bool has_attribute = false;

  template <class Context, class RuleContext, class Attribute>
  bool parse(Cursor& first, const Cursor& last, const Context&, RuleContext&, Attribute&) const {
    const std::string_view rest(first, static_cast<std::size_t>(last - first));
    // The byte order mark is the only blank that depends on where the text begins.
    const std::size_t n = skip_blanks(rest, 0);
    first += n;
    return n > 0;
  }
};

template <class Derived>
struct LexemeParser : x3::parser<Derived> {
  using attribute_type = ast::Name;
  [[maybe_unused]] static constexpr bool has_attribute = true;

  template <class Context, class RuleContext, class Attribute>
  bool parse(Cursor& first, const Cursor& last, const Context& context, RuleContext&,
             Attribute& attribute) const {
    Cursor at = first;
    x3::skip_over(at, last, context);
    const std::size_t n = this->derived().length({at, static_cast<std::size_t>(last - at)});
    if (n == 0) return false;
    if constexpr (std::is_same_v<Attribute, ast::Name>) {
      const std::size_t begin = state_of(context).offset(at);
      attribute = {std::string(at, n), {begin, begin + n}};
    }
    first = at + n;
    return true;
  }
};

// A keyword or a symbol. `what`, for errors, describes all that may stand there, if that is more.
struct Token : LexemeParser<Token> {
  constexpr explicit Token(std::string_view its_text, const char* instead = nullptr)
      : text(its_text), what(instead) {}
  [[nodiscard]] std::size_t length(std::string_view rest) const {
    const std::size_t word = word_length(rest);
    if (word > 0) return rest.substr(0, word) == text ? word : 0;
    return rest.starts_with(text) ? text.size() : 0;
  }
  std::string_view text;
  const char* what;
};

// One of several tokens; if one symbol begins another, the longer must be listed first.
template <std::size_t n>
struct OneOf : LexemeParser<OneOf<n>> {
  template <class... Text>
  constexpr explicit OneOf(const Text&... text) : tokens{Token(text)...} {}
  [[nodiscard]] std::size_t length(std::string_view rest) const {
    for (const Token& token : tokens) {
      if (const std::size_t found = token.length(rest); found > 0) return found;
    }
    return 0;
  }
  std::array<Token, n> tokens;
};
template <class... Text>
constexpr auto one_of(const Text&... text) {
  return OneOf<sizeof...(text)>(text...);
}

// A name, number or string.
struct Lexeme : LexemeParser<Lexeme> {
  using Length = std::size_t (*)(std::string_view);
  constexpr Lexeme(Length measure, const char* name) : length(measure), what(name) {}
  Length length;
  const char* what;
};

// Always fails; ends a list of alternatives if nothing else is allowed.
struct Nothing : x3::parser<Nothing> {
  using attribute_type = x3::unused_type;
  [[maybe_unused]] static constexpr bool has_attribute = false;
  constexpr explicit Nothing(const char* alternatives) : what(alternatives) {}

  template <class Context, class RuleContext, class Attribute>
  bool parse(Cursor& first, const Cursor&, const Context&, RuleContext&, Attribute&) const {
    throw x3::expectation_failure<Cursor>(first, what);
  }
  const char* what;
};

// Reads nothing. Throws a Failure at a statement that orders do not have.
struct NoStatement : x3::parser<NoStatement> {
  using attribute_type = x3::unused_type;
  [[maybe_unused]] static constexpr bool has_attribute = false;

  template <class Context, class RuleContext, class Attribute>
  bool parse(Cursor& first, const Cursor& last, const Context& context, RuleContext&,
             Attribute&) const {
    Cursor at = first;
    x3::skip_over(at, last, context);
    const State& state = state_of(context);
    if (auto error = foreign_statement(state.text, state.offset(at))) throw Failure{*error};
    return true;
  }
};

// Stores the position of the subject's text in a span of the rule's node.
template <class Subject, class Field>
struct Located : x3::unary_parser<Subject, Located<Subject, Field>> {
  static constexpr bool is_pass_through_unary = true;
  constexpr Located(const Subject& inner, Field target)
      : x3::unary_parser<Subject, Located>(inner), field(target) {}

  template <class Context, class RuleContext, class Attribute>
  bool parse(Cursor& first, const Cursor& last, const Context& context, RuleContext& node,
             Attribute& attribute) const {
    Cursor begin = first;
    x3::skip_over(begin, last, context);
    if (!this->subject.parse(first, last, context, node, attribute)) return false;
    const State& state = state_of(context);
    node.*field = {state.offset(begin), state.offset(first)};
    return true;
  }
  Field field;
};

}  // namespace
}  // namespace ripeline::spec

// The text that a failed expectation reports as expected: a compound is described by its first
// part; a list of alternatives is described by the last one.
namespace boost::spirit::x3 {

template <>
struct get_info<ripeline::spec::Token> {
  using result_type = std::string;
  std::string operator()(const ripeline::spec::Token& p) const {
    return p.what != nullptr ? p.what : "'" + std::string(p.text) + "'";
  }
};
template <>
struct get_info<ripeline::spec::Lexeme> {
  using result_type = std::string;
  std::string operator()(const ripeline::spec::Lexeme& p) const { return p.what; }
};
template <std::size_t n>
struct get_info<ripeline::spec::OneOf<n>> {
  using result_type = std::string;
  std::string operator()(const ripeline::spec::OneOf<n>& p) const {
    std::string all;
    for (const ripeline::spec::Token& token : p.tokens) {
      all += (all.empty() ? "" : " or ") + what(token);
    }
    return all;
  }
};
template <class Left, class Right>
struct get_info<alternative<Left, Right>> {
  using result_type = std::string;
  std::string operator()(const alternative<Left, Right>& p) const { return what(p.right); }
};
template <class Left, class Right>
struct get_info<sequence<Left, Right>> {
  using result_type = std::string;
  std::string operator()(const sequence<Left, Right>& p) const { return what(p.left); }
};
template <class Left, class Right>
struct get_info<list<Left, Right>> {
  using result_type = std::string;
  std::string operator()(const list<Left, Right>& p) const { return what(p.left); }
};
template <class Subject, class Action>
struct get_info<action<Subject, Action>> {
  using result_type = std::string;
  std::string operator()(const action<Subject, Action>& p) const { return what(p.subject); }
};
template <class Subject>
struct get_info<plus<Subject>> {
  using result_type = std::string;
  std::string operator()(const plus<Subject>& p) const { return what(p.subject); }
};

}  // namespace boost::spirit::x3

namespace ripeline::spec {
namespace {

template <class Field, class Subject>
constexpr auto located(Field field, const Subject& subject) {
  return Located<typename x3::extension::as_parser<Subject>::value_type, Field>(
      x3::as_parser(subject), field);
}

constexpr Token operator""_t(const char* text, std::size_t n) {
  return Token(std::string_view(text, n));
}
constexpr Lexeme kName(name_length, "a name");
constexpr Lexeme kNumber(number_length, "a number");
constexpr Lexeme kString(string_length, "a text in quotes");
constexpr Token kEnd(";");

// ---- Actions.

template <auto field>
struct Set {
  template <class Context>
  void operator()(const Context& context) const {
    x3::_val(context).*field = std::move(x3::_attr(context));
  }
};
template <auto field>
struct Push {
  template <class Context>
  void operator()(const Context& context) const {
    (x3::_val(context).*field).push_back(std::move(x3::_attr(context)));
  }
};
template <auto field, auto value>
struct Put {
  template <class Context>
  void operator()(const Context& context) const {
    x3::_val(context).*field = value;
  }
};
template <auto field>
struct SetText {  // without the quotes
  template <class Context>
  void operator()(const Context& context) const {
    const std::string& text = x3::_attr(context).text;
    x3::_val(context).*field = text.substr(1, text.size() - 2);
  }
};
template <auto field>
constexpr Set<field> set{};
template <auto field>
constexpr Push<field> push{};
template <auto field, auto value>
constexpr Put<field, value> put{};
template <auto field>
constexpr SetText<field> set_text{};

// Counts nesting constructs, to bound the parser's own stack.
constexpr auto kEnter = [](const auto& context) {
  State& state = state_of(context);
  if (++state.depth > kMaxDepth) throw Failure{too_deep(x3::_attr(context).span)};
};
constexpr auto kLeave = [](const auto& context) { --state_of(context).depth; };

// ---- Expressions: a row of operands and operators, joined by infix.h.

using Row = std::vector<Piece>;

template <Piece::Kind kind>
constexpr auto kOperator = [](const auto& context) {
  Piece piece;
  piece.kind = kind;
  piece.op = x3::_attr(context).text;
  piece.span = x3::_attr(context).span;
  x3::_val(context).push_back(std::move(piece));
};
constexpr auto kOperand = [](const auto& context) {
  Piece piece;
  piece.tree = std::move(x3::_attr(context));
  x3::_val(context).push_back(std::move(piece));
};
constexpr auto kJoin = [](const auto& context) {
  Result<Tree> tree = join(std::move(x3::_attr(context)));
  if (!tree.ok()) throw Failure{tree.errors().front()};
  x3::_val(context) = std::move(tree).value();
};
constexpr auto kNumberTree = [](const auto& context) {
  Expr& expr = x3::_val(context).expr;
  expr.text = x3::_attr(context).text;
  const Result<Rational> value = value_of(x3::_attr(context));
  if (!value.ok()) throw Failure{value.errors().front()};
  expr.value = value.value();
  expr.span = x3::_attr(context).span;
};
constexpr auto kNameTree = [](const auto& context) {
  Expr& expr = x3::_val(context).expr;
  expr.kind = Expr::Kind::name;
  expr.text = x3::_attr(context).text;
  expr.span = x3::_attr(context).span;
};
constexpr auto kCall = [](const auto& context) {
  static const std::vector<std::string> functions = {"min", "max", "ceil", "floor"};
  Expr& expr = x3::_val(context).expr;
  if (std::find(functions.begin(), functions.end(), expr.text) == functions.end()) {
    const auto meant = nearest(expr.text, functions);
    throw Failure{
        {"parse-unknown-function", "no function is called '" + expr.text + "'",
         "functions: min, max, ceil, floor." + (meant ? " Did you mean " + *meant + "?" : ""),
         expr.span}};
  }
  expr.kind = Expr::Kind::call;
};
// Adds a part to a call or a conditional.
constexpr auto kPart = [](const auto& context) {
  Tree& tree = x3::_val(context);
  Tree& part = x3::_attr(context);
  tree.depth = std::max(tree.depth, part.depth + 1);
  tree.expr.args.push_back(std::move(part.expr));
};
constexpr auto kCallEnd = [](const auto& context) {
  Expr& expr = x3::_val(context).expr;
  if ((expr.text == "ceil" || expr.text == "floor") && expr.args.size() != 1) {
    throw Failure{
        {"parse-argument-count", expr.text + " takes one number", "remove the others", expr.span}};
  }
  expr.span.end = x3::_attr(context).span.end;
  if (x3::_val(context).depth > kMaxDepth) throw Failure{too_deep(expr.span)};
};
// Turns the expression that was read so far into the condition of a conditional.
constexpr auto kConditionalTree = [](const auto& context) {
  Tree& tree = x3::_val(context);
  Expr condition = std::move(tree.expr);
  tree.expr = {};
  tree.expr.kind = Expr::Kind::conditional;
  tree.expr.text = "?";
  tree.expr.span = condition.span;
  tree.expr.args.push_back(std::move(condition));
  ++tree.depth;
};
constexpr auto kConditionalEnd = [](const auto& context) {
  Tree& tree = x3::_val(context);
  tree.expr.span.end = tree.expr.args.back().span.end;
  if (tree.depth > kMaxDepth) throw Failure{too_deep(tree.expr.span)};
  --state_of(context).depth;
};
// The span of an expression in parentheses includes the parentheses.
constexpr auto kOpen = [](const auto& context) {
  x3::_val(context).expr.span = x3::_attr(context).span;
};
constexpr auto kInner = [](const auto& context) {
  const Span open = x3::_val(context).expr.span;
  x3::_val(context) = std::move(x3::_attr(context));
  x3::_val(context).expr.span.begin = open.begin;
};
constexpr auto kClose = [](const auto& context) {
  x3::_val(context).expr.span.end = x3::_attr(context).span.end;
};
constexpr auto kTree = [](const auto& context) {
  x3::_val(context) = std::move(x3::_attr(context));
};
constexpr auto kExpr = [](const auto& context) {
  x3::_val(context) = std::move(x3::_attr(context).expr);
};

constexpr const char* kValue = "a value";
const x3::rule<class ConditionalRule, Tree> conditional = kValue;
const x3::rule<class RowRule, Row> row = kValue;
const x3::rule<class NumberRule, Tree> number = kValue;
const x3::rule<class NameRule, Tree> plain_name = kValue;
const x3::rule<class CallRule, Tree> call = kValue;
const x3::rule<class ParenthesesRule, Tree> parentheses = kValue;
const x3::rule<class ExprRule, Expr> expr = kValue;
const x3::rule<class AtomRule, Expr> atom = "a number, a name or '('";
const x3::rule<class CountRule, Expr> count = "a number, a name, a call or '('";
const x3::rule<class OperandRule, Tree> operand = kValue;

const auto prefix = one_of("-", "not")[kOperator<Piece::Kind::prefix>];
const auto infix = one_of("or", "and", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%",
                          "div")[kOperator<Piece::Kind::infix>];

const auto number_def = kNumber[kNumberTree];
const auto plain_name_def = kName[kNameTree];
const auto call_def = kName[kNameTree] >>
                      -(("("_t)[kEnter] > x3::eps[kCall] > (conditional[kPart] % ","_t) >
                        Token(")", "',' or ')'")[kCallEnd] > x3::eps[kLeave]);
const auto parentheses_def = ("("_t)[kEnter][kOpen] > conditional[kInner] >
                             (")"_t)[kClose] > x3::eps[kLeave];
const auto operand_def = number[kTree] | call[kTree] | parentheses[kTree];
const auto term = (+prefix > operand[kOperand]) | operand[kOperand];
const auto row_def = term >> *(infix > term);
const auto conditional_def = row[kJoin] >>
                             -(("?"_t)[kEnter] > x3::eps[kConditionalTree] > conditional[kPart] >
                               ":"_t > conditional[kPart] > x3::eps[kConditionalEnd]);
const auto expr_def = conditional[kExpr];
const auto atom_def = number[kExpr] | plain_name[kExpr] | parentheses[kExpr];
const auto count_def = operand[kExpr];
BOOST_SPIRIT_DEFINE(conditional, row, number, plain_name, call, parentheses, operand, expr, atom,
                    count)

// ---- Items.

using namespace ast;

const x3::rule<class RangeRule, Range> range = kValue;
const x3::rule<class CountsRule, Range> counts = kValue;
const auto upper = ("..<"_t)[put<&Range::exclusive, true>] | ".."_t;
constexpr auto kSingle = [](const auto& context) {
  x3::_val(context).last = x3::_attr(context);
  x3::_val(context).first = std::move(x3::_attr(context));
};
const auto range_def = expr[set<&Range::first>] > upper > expr[set<&Range::last>];
const auto counts_def = expr[kSingle] >> -(upper > expr[set<&Range::last>]);

const x3::rule<class ParamRule, Param> param = "param";
const auto param_def =
    "param"_t > kName[set<&Param::name>] > "="_t > expr[set<&Param::value>] > kEnd;

const x3::rule<class MicrobatchesRule, Microbatches> microbatches = "microbatches";
const auto microbatches_def = "microbatches"_t >
                              ((("any"_t >> &kEnd)[put<&Microbatches::any, true>]) |
                               counts[set<&Microbatches::range>] |
                               Nothing("'any', a number or a range")) >
                              Token(";", "'..', '..<' or ';'");

// A group has a name if a word precedes a value: `vision 2`, but not `n - 1` or `max(a,
// b)`.
std::size_t group_name_length(std::string_view text) {
  const std::size_t length = name_length(text);
  if (length == 0) return 0;
  const std::string_view rest = text.substr(skip_blanks(text, length));
  const std::string_view name = text.substr(0, length);
  const bool function = name == "min" || name == "max" || name == "ceil" || name == "floor";
  const bool value =
      name_length(rest) > 0 || number_length(rest) > 0 || (rest.starts_with('(') && !function);
  return value ? length : 0;
}
constexpr Lexeme kGroupName(group_name_length, "a name and a number of stages");
const x3::rule<class StageGroupRule, StageGroup> stage_group =
    "a group: a name and a number of stages";
const x3::rule<class OnlyGroupRule, StageGroup> only_group = "a number of stages";
const x3::rule<class StagesRule, Stages> stages = "stages";
const auto stage_group_def = kGroupName[set<&StageGroup::name>] > expr[set<&StageGroup::count>];
const auto only_group_def = expr[set<&StageGroup::count>];
const auto stages_def = "stages"_t > ((stage_group[push<&Stages::groups>] >>
                                       *(","_t > stage_group[push<&Stages::groups>])) |
                                      only_group[push<&Stages::groups>]) > kEnd;

const x3::rule<class GroupEdgeRule, GroupEdge> group_edge = "an edge: two groups, A -> B";
const x3::rule<class EdgesRule, Edges> edges = "edges";
const auto group_edge_def = kName[set<&GroupEdge::from>] > "->"_t > kName[set<&GroupEdge::to>];
const auto edges_def = "edges"_t > (group_edge[push<&Edges::edges>] % ","_t) >
                       Token(";", "',' or ';'");

const x3::rule<class PlaceRule, ast::Place> place = "place";
const auto place_def =
    "place"_t > kName[set<&ast::Place::variable>] > "on"_t > expr[set<&ast::Place::rank>] > kEnd;

const x3::rule<class TensorParallelRule, TensorParallel> tensor_parallel = "tensor_parallel";
const auto tensor_parallel_def = "tensor_parallel"_t > expr[set<&TensorParallel::members>] > "{"_t >
                                 "agree"_t > "by"_t >
                                 one_of("intersection", "vote", "leader",
                                        "none")[set<&TensorParallel::agree>] > kEnd
                                 > "}"_t;

const x3::rule<class DataParallelRule, DataParallel> data_parallel = "data_parallel";
const auto data_parallel_def = "data_parallel"_t > expr[set<&DataParallel::replicas>] > kEnd;

// ---- Ops.

const x3::rule<class NeededOpRule, NeededOp> needed_op = "the name of an op";
const auto where = ("here"_t)[put<&NeededOp::at, At::here>] |
                   ("prev"_t)[put<&NeededOp::at, At::prev>] |
                   ("next"_t)[put<&NeededOp::at, At::next>] |
                   (("("_t)[put<&NeededOp::at, At::stage>] > expr[set<&NeededOp::stage>] > ")"_t) |
                   Nothing("'here', 'prev', 'next' or a stage in parentheses");
const auto capacity = expr[set<&NeededOp::via_capacity>];
const auto via = (("slots"_t)[set<&NeededOp::via>] >> -(!"of"_t >> capacity)) |
                 (("fifo"_t)[set<&NeededOp::via>] > capacity) | kName[set<&NeededOp::via>] |
                 Nothing("'slots', 'fifo', 'rendezvous' or the name of a channel");
const auto of = ("all"_t)[put<&NeededOp::of_all, true>] | expr[set<&NeededOp::of>] |
                Nothing("'all' or a microbatch, as m - 1");
const auto needed_op_def = located(
    &NeededOp::span, kName[set<&NeededOp::op>] > Token("at", "'at' (here, prev, next or a stage)") >
                         where > -("via"_t > via) > -("of"_t > of));

const x3::rule<class CostRule, Cost> cost = "cost";
const x3::rule<class NeedsRule, Needs> needs = "needs";
const x3::rule<class AcquiresRule, Acquires> acquires = "acquires";
const x3::rule<class ReleasesRule, Releases> releases = "releases";
const x3::rule<class CollectivesRule, Collectives> collectives = "collectives";
const auto cost_def = "cost"_t > expr[set<&Cost::value>] > kEnd;
const auto needs_def = "needs"_t > (needed_op[push<&Needs::items>] % ","_t) >
                       Token(";", "'via', 'of', ',' or ';'");
const auto acquires_def = "acquires"_t > kName[set<&Acquires::resource>] >
                          -(!"leaving"_t >> expr[set<&Acquires::amount>]) >
                          -("leaving"_t > expr[set<&Acquires::leaving>]) >
                          Token(";", "an amount, 'leaving' or ';'");
const auto releases_def = "releases"_t > kName[set<&Releases::resource>] >
                          -expr[set<&Releases::amount>] > Token(";", "an amount or ';'");
const auto collectives_def = "collectives"_t > expr[set<&Collectives::count>] > kEnd;

const x3::rule<class OpClauseRule, OpClause> op_clause = "a clause";
const auto clause_value = set<&OpClause::value>;
const auto op_clause_def =
    located(&OpClause::span, cost[clause_value] | needs[clause_value] | acquires[clause_value] |
                                 releases[clause_value] | collectives[clause_value]);

const auto add_kind = push<&Op::kind>;
const auto kind = one_of("forward", "reduce", "offload", "reload", "recompute")[add_kind] |
                  (("backward"_t)[add_kind] >> -one_of("input", "weight")[add_kind]) |
                  (("user"_t)[add_kind] > kString[set_text<&Op::user_name>]);
const auto sequential = ("sequential"_t)[put<&Op::sequential, true>];
const auto once = ("once"_t)[put<&Op::once, true>];
const auto engine = "on"_t >> !("m"_t >> "where"_t);
const auto op_header = "op"_t > kName[set<&Op::name>] > -kind >
                       -((sequential >> -once) | (once >> -sequential)) >
                       -(engine > kName[set<&Op::engine>]) > -("when"_t > expr[set<&Op::when>]) >
                       -("on"_t > "m"_t > "where"_t > expr[set<&Op::microbatch_filter>]);
const x3::rule<class OpRule, Op> op = "op";
const auto op_def = located(&Op::header, op_header) >
                    Token("{",
                          "a kind ('forward', 'backward', 'backward input', 'backward weight', "
                          "'reduce', 'offload', 'reload', 'recompute', 'user'), "
                          "'sequential', 'once', 'on', 'when' or '{'") >
                    *op_clause[push<&Op::clauses>] >
                    Token("}", "'cost', 'needs', 'acquires', 'releases', 'collectives' or '}'");

// ---- Resources and channels.

template <class Node>
const auto kPer = "per"_t > (("stage"_t)[put<&Node::per, Per::stage>] |
                             ("rank"_t)[put<&Node::per, Per::rank>] | Nothing("'stage' or 'rank'"));
template <auto field>
constexpr auto kOnlyOnce = [](const auto& context) {
  if (!(x3::_val(context).*field)) return;
  const Name& word = x3::_attr(context);
  throw Failure{
      {"parse-repeated-clause", "a second '" + word.text + "'", "give it once", word.span}};
};
const x3::rule<class ResourceRule, Resource> resource = "resource";
const x3::rule<class ChannelRule, Channel> channel = "channel";
const auto unit_text = located(&Resource::unit_span, kString[set_text<&Resource::unit>]);
const auto resource_def = "resource"_t > kName[set<&Resource::name>] > kPer<Resource> > "{"_t >
                          *((("capacity"_t)[kOnlyOnce<&Resource::capacity>] >
                             expr[set<&Resource::capacity>] > kEnd) |
                            (("unit"_t)[kOnlyOnce<&Resource::unit>] > unit_text > kEnd)) >
                          Token("}", "'capacity', 'unit' or '}'");
const auto channel_def = "channel"_t > kName[set<&Channel::name>] > kPer<Channel> > "{"_t >
                         "slots"_t > expr[set<&Channel::slots>] > kEnd > "}"_t;

// ---- Orders.

const x3::rule<class OrderStepRule, OrderStep> order_step = "an op";
const auto order_step_def = kName[set<&OrderStep::op>] >> -("@"_t > atom[set<&OrderStep::chunk>]);

const x3::rule<class LetRule, Let> let = "let";
const x3::rule<class StreamLoopRule, StreamLoop> stream_loop = "a loop: NAME in FIRST ..< END";
const x3::rule<class StreamPartRule, StreamPart> stream_loops = "'for', '(' or an op";
const x3::rule<class StreamOfOneRule, StreamPart> stream_of_one = "for";
const x3::rule<class StreamRule, Stream> stream = "stream";
const x3::rule<class RepeatRule, Repeat> repeat = "a step";
constexpr Token kStepEnd(";",
                         "';' (before it '@' or '*'; a count of several terms in parentheses)");
const auto let_def = "let"_t > kName[set<&Let::name>] > "="_t > expr[set<&Let::value>] > kEnd;
const auto stream_loop_def =
    kName[set<&StreamLoop::variable>] > "in"_t > range[set<&StreamLoop::range>];
const auto steps = (("("_t)[put<&Repeat::grouped, true>] > +order_step[push<&Repeat::steps>] >
                    Token(")", "an op or ')'")) |
                   order_step[push<&Repeat::steps>];
const auto repeat_def = (NoStatement{} >> steps) > -("*"_t > count[set<&Repeat::count>]) > kStepEnd;
const auto loops = "for"_t > (stream_loop[push<&StreamPart::loops>] % ","_t);
const auto stream_of_one_def = loops >
                               Token(":", "',' or ':'") > repeat[push<&StreamPart::repeats>];
const auto stream_loops_def =
    (loops > Token("{", "',' or '{'") > +repeat[push<&StreamPart::repeats>] >
     Token("}", "'(', an op or '}'")) |
    repeat[push<&StreamPart::repeats>];
const auto stream_def = "stream"_t > kName[set<&Stream::name>] >
                        (("="_t > stream_of_one[push<&Stream::parts>]) |
                         (("{"_t)[put<&Stream::braced, true>] >
                          +stream_loops[push<&Stream::parts>] >
                          Token("}", "'for', '(', an op or '}'")) |
                         Nothing("'=' or '{'"));

const x3::rule<class RankBlockRule, RankBlock> rank_block = "rank";
const auto rank_block_def = "rank"_t > atom[set<&RankBlock::rank>] > "{"_t >
                            *repeat[push<&RankBlock::repeats>] > Token("}", "'(', an op or '}'");

const x3::rule<class OrderItemRule, OrderItem> order_item = "a step";
const auto order_value = set<&OrderItem::value>;
const auto order_item_def =
    located(&OrderItem::span,
            let[order_value] | stream[order_value] | rank_block[order_value] | repeat[order_value]);

const x3::rule<class OrderRule, Order> order = "order";
const auto order_def = "order"_t > kName[set<&Order::name>] >
                       (("from"_t > "csv"_t > kString[set_text<&Order::csv>] > kEnd) |
                        ("on"_t > kName[set<&Order::variable>] > "{"_t >
                         *order_item[push<&Order::items>] >
                         Token("}", "'let', 'stream', 'rank', '(', an op or '}'")) |
                        Nothing("'on' or 'from'"));

// ---- Hints, dispatch, the rest.

const x3::rule<class HintPlaceRule, HintPlace> hint_place = "a name";
const x3::rule<class PriorityRule, HintPlace> priority = "a name";
const auto hint_place_def = order_step[set<&HintPlace::lane>];
const auto op_of_priority =
    kName[([](const auto& context) { x3::_val(context).lane.op = std::move(x3::_attr(context)); })];
const auto priority_def = op_of_priority > "="_t > expr[set<&HintPlace::priority>];

const x3::rule<class HintClauseRule, HintClause> hint_clause = "a clause";
const auto keyword = set<&HintClause::keyword>;
const auto add_place = push<&HintClause::places>;
const auto hint_clause_def = located(
    &HintClause::span,
    (one_of("prefer", "rounds", "fill")[keyword] > (hint_place[add_place] % ","_t) >
     Token(";", "'@', ',' or ';'")) |
        (("priority"_t)[keyword] > (priority[add_place] % ","_t) > Token(";", "',' or ';'")) |
        (("follow"_t)[keyword] > kName[set<&HintClause::order>] > kEnd) |
        (one_of("notices", "forecasts", "learns")[keyword] > kEnd) |
        (one_of("patience", "yield")[keyword] > expr[set<&HintClause::value>] > kEnd));
const x3::rule<class HintRule, Hint> hint = "hint";
const auto hint_def = "hint"_t > kName[set<&Hint::name>] > "{"_t >
                      *hint_clause[push<&Hint::clauses>] >
                      Token("}",
                            "'prefer', 'rounds', 'priority', 'fill', 'follow', 'notices', "
                            "'forecasts', 'learns', 'patience', "
                            "'yield' or '}'");

const x3::rule<class DispatchRule, Dispatch> dispatch = "dispatch";
const auto kept_order = "keeping"_t > kName[set<&Dispatch::keeps>] > kEnd;
const auto after_by = kept_order | Token(";", "'keeping' or ';'");
const auto after_ready = ("by"_t > kName[set<&Dispatch::by>] > after_by) | kept_order |
                         Token(";", "'by', 'keeping' or ';'");
const auto dispatch_def = "dispatch"_t >
                          ((("in"_t)[put<&Dispatch::in_order, true>] > "order"_t >
                            kName[set<&Dispatch::by>] > kEnd) |
                           ("ready"_t > after_ready) | Nothing("'ready' or 'in order'"));

const x3::rule<class AssertRule, Assert> assertion = "assert";
const auto assertion_def = "assert"_t > "peak"_t > kName[set<&Assert::resource>] > "<="_t >
                           expr[set<&Assert::bound>] > kEnd;

const x3::rule<class PairRule, Pair> pair = "pair";
const auto pair_cost = "{"_t > "cost"_t > expr[set<&Pair::cost>] > kEnd > "}"_t;
const auto pair_def = "pair"_t > kName[set<&Pair::first>] > ","_t > kName[set<&Pair::second>] >
                      (pair_cost | Token(";", "'{' or ';'"));

const x3::rule<class InputsRule, Inputs> inputs = "inputs";
const auto inputs_def = "inputs"_t > one_of("natural", "pyramid")[set<&Inputs::order>] > kEnd;

const x3::rule<class ItemRule, Item> item_rule = "an item";
const auto item_value = set<&Item::value>;
const auto item_rule_def =
    located(&Item::span, param[item_value] | microbatches[item_value] | stages[item_value] |
                             edges[item_value] | place[item_value] | tensor_parallel[item_value] |
                             data_parallel[item_value] | op[item_value] | resource[item_value] |
                             channel[item_value] | order[item_value] | hint[item_value] |
                             dispatch[item_value] | assertion[item_value] | pair[item_value] |
                             inputs[item_value]);

const x3::rule<class HeadRule, Name> head = "pipeline";
constexpr auto kWhole = [](const auto& context) {
  x3::_val(context) = std::move(x3::_attr(context));
};
const auto head_def = "pipeline"_t > kName[kWhole] > "{"_t;

BOOST_SPIRIT_DEFINE(range, counts, param, microbatches, stage_group, only_group, stages, group_edge,
                    edges, place, tensor_parallel, data_parallel)
BOOST_SPIRIT_DEFINE(needed_op, cost, needs, acquires, releases, collectives, op_clause, op,
                    resource, channel)
BOOST_SPIRIT_DEFINE(order_step, let, stream_loop, stream_of_one, stream_loops, stream, repeat,
                    rank_block, order_item, order)
BOOST_SPIRIT_DEFINE(hint_place, priority, hint_clause, hint, dispatch, assertion, pair, inputs,
                    item_rule, head)

// ---- The whole pipeline.

// Parses from `at` on and moves `at` behind the parsed text. Returns an error if parsing fails.
template <class Rule, class Node>
std::optional<Diagnostic> parse_one(const Source& source, const Rule& rule, std::size_t& at,
                                    Node& node) {
  State state{source.text};
  Cursor first = source.text.data() + at;
  const Cursor last = source.text.data() + source.text.size();
  try {
    const auto parser = x3::with<StateTag>(std::ref(state))[rule];
    if (x3::phrase_parse(first, last, parser, Blanks{}, node, x3::skip_flag::dont_post_skip)) {
      at = state.offset(first);
      return std::nullopt;
    }
    return unknown_item(source, at);
  } catch (const x3::expectation_failure<Cursor>& failure) {
    return expected(source, failure.which(), state.offset(failure.where()), at);
  } catch (const Failure& failure) {
    return failure.error;
  }
}

// Parses the items up to the closing brace. Leaves `at` behind the last item.
void parse_items(const Source& source, std::size_t& at, Pipeline& pipeline, Diagnostics& errors) {
  constexpr std::size_t kMostErrors = 20;
  const std::string_view text = source.text;
  for (std::size_t begin = skip_blanks(text, at); begin < text.size() && text[begin] != '}';
       begin = skip_blanks(text, at)) {
    Item item;
    at = begin;
    if (auto error = parse_one(source, item_rule, at, item)) {
      at = resume_after(text, begin, error->span.begin);
      errors.push_back(std::move(*error));
      if (errors.size() >= kMostErrors) return;
      continue;
    }
    item.blank_before = blank_line_before(text, begin);
    pipeline.items.push_back(std::move(item));
  }
}

}  // namespace

Result<ast::Pipeline> parse(const Source& source) {
  const std::string_view text = source.text;
  Diagnostics errors = unreadable(text);
  if (!errors.empty()) return errors;
  const std::size_t begin = skip_blanks(text, 0);
  if (lexeme_at(text, begin) != "pipeline") return no_pipeline(source, begin);

  Pipeline pipeline;
  std::size_t at = begin;
  if (auto error = parse_one(source, head, at, pipeline.name)) return *error;
  parse_items(source, at, pipeline, errors);
  if (!errors.empty()) return errors;
  const std::size_t end = skip_blanks(text, at);
  if (end == text.size()) return expected(source, "an item or '}'", at, begin);
  pipeline.span = {begin, end + 1};
  at = skip_blanks(text, end + 1);
  if (at < text.size()) return text_after_end(source, at);
  pipeline.blank_before = blank_line_before(text, begin);
  pipeline.comments = comments_of(text);
  return pipeline;
}

}  // namespace ripeline::spec
// NOLINTEND(readability-identifier-naming)
