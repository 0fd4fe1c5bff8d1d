// The working state of elaborate(), and the helpers of its steps. Private to spec/elaborate.cpp and
// spec/elaborate/.
//
// Each step is a function in a header of its own, named after what the step reads;
// spec/elaborate.cpp runs them in order. A step adds to `program` and to `errors`. The tree, the
// source and the options must outlive the Work. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/ast.h"
#include "spec/elaborate.h"
#include "spec/program.h"

namespace ripeline::spec::elaboration {

// Upper limits of accepted values, so that sizes and sums do not overflow in code that uses them.
inline constexpr int kMostRanks = 16384;
inline constexpr std::int64_t kMostMicrobatches = 1'000'000'000;
inline constexpr std::int64_t kLargestAmount = 1'000'000'000'000;
inline constexpr std::int64_t kMostMembers = 1024;
inline constexpr std::int64_t kMostReplicas = 1024;
inline constexpr std::int64_t kLargestCollectives = 1'000'000;
// The counts of orders and the bounds of assertions are tried for this many microbatch counts,
// beginning with the smallest.
inline constexpr int kTriedMicrobatches = 65;

// Names with values; setting a name again replaces its value.
class Values {
 public:
  void set(std::string_view name, Rational value);
  void set(std::string_view name, std::int64_t value) { set(name, Rational{value, 1}); }
  [[nodiscard]] Lookup lookup() const;  // the values must outlive the result

 private:
  std::vector<std::pair<std::string, Rational>> values_;
};

using Names = std::vector<std::string>;

template <class T>
struct TreeNode {
  const T* node = nullptr;
  Span span;  // the span of the whole item
};

struct Work {
  const ast::Pipeline& pipeline;
  const Source& source;
  const ElaborateOptions& options;
  Program program = {};
  Diagnostics errors = {};

  // The items as written, by kind, in the order of the text; only the first of each name.
  std::vector<TreeNode<ast::Param>> params = {};
  std::vector<TreeNode<ast::Edges>> edges = {};
  std::vector<TreeNode<ast::Op>> ops = {};
  std::vector<TreeNode<ast::Resource>> resources = {};
  std::vector<TreeNode<ast::Channel>> channels = {};
  std::vector<TreeNode<ast::Order>> orders = {};
  std::vector<TreeNode<ast::Hint>> hints = {};
  std::vector<TreeNode<ast::Assert>> assertions = {};
  std::vector<TreeNode<ast::Pair>> pairs = {};
  TreeNode<ast::Microbatches> microbatches = {};
  TreeNode<ast::Inputs> inputs = {};
  TreeNode<ast::Stages> stages = {};
  TreeNode<ast::Place> place = {};
  TreeNode<ast::TensorParallel> tensor_parallel = {};
  TreeNode<ast::DataParallel> data_parallel = {};
  TreeNode<ast::Dispatch> dispatch = {};
  ast::Dispatch dispatch_option = {};  // parsed from --dispatch

  // Known after the params: the range that the program's text gives.
  MicrobatchRange written_range = {};
  // Known after the stages are placed.
  std::vector<std::vector<int>> rank_stages = {};  // per rank, its stages by chunk
  // Known after the lanes are made: the number of microbatches after which all shares repeat.
  int share_period = 1;
  bool lists_shares = false;  // if true, share_period is the range's one count instead
  // Each op and stage where the op's `on m where` leaves no microbatch, although it leaves some at
  // other stages. Needs of the op at this stage are void.
  std::set<std::pair<int, int>> without_microbatch = {};
  // Known after the pools are made: per resource, its first pool; a resource's pools are sorted by
  // stage or rank.
  std::vector<int> first_pool = {};

  void error(std::string id, std::string message, std::string hint, Span span);
  void error(const Diagnostics& diagnostics);
  [[nodiscard]] bool failed() const { return !errors.empty(); }
  void unsupported(std::string construct, Span span);

  [[nodiscard]] Names op_names() const;
  [[nodiscard]] Names resource_names() const;
  [[nodiscard]] Names order_names() const;
  [[nodiscard]] Names hint_names() const;
  [[nodiscard]] int find_op(std::string_view name) const;  // these five return -1 if there is none
  [[nodiscard]] int find_resource(std::string_view name) const;
  [[nodiscard]] int find_order(std::string_view name) const;
  [[nodiscard]] int find_hint(std::string_view name) const;
  [[nodiscard]] int find_channel(std::string_view name) const;
  [[nodiscard]] bool declares_ranks() const;
  // Whether the range is one count; if so, `microbatches` has that value everywhere.
  [[nodiscard]] bool one_count() const;
};

// The names as a hint for an error: `ops here: F, B. Did you mean F?`
[[nodiscard]] std::string choices(const std::string& what, std::string_view name,
                                  const Names& candidates);

// Values of params, and of `microbatches` if the range is one count.
[[nodiscard]] Values param_values(const Work& work);
// param_values() with ranks and stages; set_stage() and set_rank() add names of one stage or rank.
[[nodiscard]] Values global_values(const Work& work);
void set_stage(Values& values, const Work& work, int stage);  // s r chunk chunks
void set_rank(Values& values, const Work& work, int rank);    // r chunks

// The value of an expression whose names are known; nullopt after reporting an error. `where`, if
// not empty, ends the error's sentence, as in `, at stage 3`.
[[nodiscard]] std::optional<Rational> value_of(Work& work, const Expr& expr, const Values& values,
                                               const std::string& where = "");
[[nodiscard]] std::optional<std::int64_t> integer_of(Work& work, const Expr& expr,
                                                     const Values& values,
                                                     const std::string& where = "");

}  // namespace ripeline::spec::elaboration
