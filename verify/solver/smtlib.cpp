#include "verify/solver/smtlib.h"

#include <algorithm>
#include <set>

namespace ripeline::verify {
namespace {

// A term that is used twice and has at least this size gets a name; smaller terms are written where
// they are used, which is more readable.
constexpr std::uint32_t kShared = 24;
constexpr std::uint32_t kMostSize = 1'000'000;

const char* symbol(Script::Op op) {
  switch (op) {
    case Script::Op::sum:
      return "+";
    case Script::Op::difference:
      return "-";
    case Script::Op::times:
      return "*";
    case Script::Op::all_of:
      return "and";
    case Script::Op::any_of:
      return "or";
    case Script::Op::negation:
      return "not";
    case Script::Op::at_most:
      return "<=";
    case Script::Op::less:
      return "<";
    case Script::Op::equal:
      return "=";
    case Script::Op::floor_div:
      return "div";
    case Script::Op::floor_mod:
      return "mod";
    case Script::Op::choice:
      return "ite";
    case Script::Op::integer:
    case Script::Op::number:
    case Script::Op::function:
      break;
  }
  return "";
}

std::string literal(std::int64_t value) {
  const std::string digits = std::to_string(value);
  return value < 0 ? "(- " + digits.substr(1) + ")" : digits;
}

}  // namespace

Script::Id Script::add(Op op, std::vector<Id> args, std::int64_t value, std::string name) {
  nodes_.push_back({op, std::move(args), value, std::move(name)});
  return static_cast<Id>(nodes_.size() - 1);
}

std::vector<Script::Use> Script::uses(const std::vector<Id>& asserted) const {
  std::vector<Use> found(nodes_.size());
  for (const Id id : asserted) ++found[id].count;
  for (std::size_t id = nodes_.size(); id-- > 0;) {
    if (found[id].count == 0) continue;
    for (const Id arg : nodes_[id].args) ++found[arg].count;
  }
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    std::uint32_t size = 1;
    for (const Id arg : nodes_[id].args) size = std::min(kMostSize, size + found[arg].size);
    found[id].size = size;
  }
  return found;
}

bool Script::is_truth(Id id) const {
  switch (nodes_[id].op) {
    case Op::all_of:
    case Op::any_of:
    case Op::negation:
    case Op::at_most:
    case Op::less:
    case Op::equal:
      return true;
    case Op::choice:
      return is_truth(nodes_[id].args[1]);
    default:
      return false;
  }
}

void Script::write(std::string& out, Id id, const std::vector<Use>& uses, bool whole) const {
  const Node& node = nodes_[id];
  if (!whole && uses[id].count > 1 && uses[id].size >= kShared) {
    out += "t" + std::to_string(id);
    return;
  }
  if (node.op == Op::integer) {
    out += "|" + node.name + "|";
  } else if (node.op == Op::number) {
    out += literal(node.value);
  } else if ((node.op == Op::all_of || node.op == Op::any_of) && node.args.empty()) {
    out += node.op == Op::all_of ? "true" : "false";
  } else if ((node.op == Op::all_of || node.op == Op::any_of || node.op == Op::sum) &&
             node.args.size() == 1) {
    write(out, node.args[0], uses, false);
  } else {
    out += "(" + (node.op == Op::function ? "|" + node.name + "|" : symbol(node.op));
    if (node.op == Op::times) out += " " + literal(node.value);
    for (const Id arg : node.args) {
      out += " ";
      write(out, arg, uses, false);
    }
    if (node.op == Op::floor_div || node.op == Op::floor_mod) out += " " + literal(node.value);
    out += ")";
  }
}

std::string Script::text(const std::string& title, const std::vector<Id>& extra,
                         std::size_t required) const {
  std::vector<Id> asserted(required_.begin(),
                           required_.begin() + static_cast<std::ptrdiff_t>(required));
  asserted.insert(asserted.end(), extra.begin(), extra.end());
  const std::vector<Use> used = uses(asserted);
  std::string declared;
  std::set<std::pair<std::string, std::size_t>> known;  // names with their numbers of arguments
  bool functions = false;
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    if (used[id].count == 0 || (node.op != Op::integer && node.op != Op::function)) continue;
    if (!known.insert({node.name, node.args.size()}).second) continue;
    functions = functions || node.op == Op::function;
    std::string arguments;
    for (std::size_t i = 0; i < node.args.size(); ++i) arguments += i == 0 ? "Int" : " Int";
    declared += "(declare-fun |" + node.name + "| (" + arguments + ") Int)\n";
  }
  std::string out =
      "; " + title + "\n(set-logic " + (functions ? "QF_UFLIA" : "QF_LIA") + ")\n" + declared;
  for (Id id = 0; id < nodes_.size(); ++id) {
    if (used[id].count < 2 || used[id].size < kShared) continue;
    out += "(define-fun t" + std::to_string(id) + " () " + (is_truth(id) ? "Bool " : "Int ");
    write(out, id, used, true);
    out += ")\n";
  }
  for (const Id id : asserted) {
    out += "(assert ";
    write(out, id, used, false);
    out += ")\n";
  }
  return out + "(check-sat)\n";
}

}  // namespace ripeline::verify
