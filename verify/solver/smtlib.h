// Script: terms as SMT-LIB 2 text, for solvers other than the linked one.
//
// A Script holds the terms of one Solver that writes instead of solving. text() is a whole file:
// the logic QF_LIA, or QF_UFLIA with functions; declarations; plain assertions without names; one
// check-sat. The same terms give the same bytes on every machine. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ripeline::verify {

class Script {
 public:
  enum class Op : std::uint8_t {
    integer,     // a variable
    number,      // a literal
    sum,         // one or more arguments
    difference,  // two arguments
    times,       // a literal and an integer
    all_of,
    any_of,
    negation,
    at_most,
    less,
    equal,      // two integers
    floor_div,  // by a literal above 0
    floor_mod,
    choice,    // if, then, else
    function,  // the value of an unknown function of integers, by its name
  };
  using Id = std::uint32_t;

  Id add(Op op, std::vector<Id> args, std::int64_t value = 0, std::string name = {});
  void require(Id truth) { required_.push_back(truth); }
  [[nodiscard]] std::size_t required() const { return required_.size(); }

  // A file with the first `required` required terms and the extra terms. `title` is a comment.
  [[nodiscard]] std::string text(const std::string& title, const std::vector<Id>& extra,
                                 std::size_t required) const;

 private:
  struct Node {
    Op op;
    std::vector<Id> args;
    std::int64_t value;
    std::string name;
  };
  struct Use {
    int count = 0;           // how often the term is written, if no term is shared
    std::uint32_t size = 0;  // the size of the term's tree, up to a limit
  };
  [[nodiscard]] std::vector<Use> uses(const std::vector<Id>& asserted) const;
  [[nodiscard]] bool is_truth(Id id) const;
  void write(std::string& out, Id id, const std::vector<Use>& uses, bool whole) const;

  std::vector<Node> nodes_;  // a term comes after its arguments
  std::vector<Id> required_;
};

}  // namespace ripeline::verify
