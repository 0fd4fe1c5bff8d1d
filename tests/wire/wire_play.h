// Orders on the wire for tests: reads them from text, and runs them by a naive method.
//
// Class WirePlay follows wire/wire.h by rules that look at the whole state each time; it shares
// only types with the judge. Takes quadratic time or more: for small programs only.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace ripeline::wire {

// A line per rank, with its actions in order of issue:
//   F0        compute            s1:7  send of payload 7 to rank 1     r1:7  receive from rank 1
//   c0:3      collective 3 of group 0
//   [ ... ]   one batch          @2 after an action: its stream (0 by default; @- is none)
//   <r1:7     after an action: it waits for the last action with this name at its rank
// All groups have all ranks.
[[nodiscard]] WireProgram wire_program(const std::vector<std::string>& ranks, int groups = 0);
// The same lines for a program, which a failing test prints.
[[nodiscard]] std::string text_of(const WireProgram& program);

class WirePlay {
 public:
  WirePlay(const WireProgram& program, const WireOptions& options)
      : program_(program), options_(options) {
    for (const auto& actions : program.ranks) {
      started_.emplace_back(actions.size(), false);
      ended_.emplace_back(actions.size(), false);
    }
  }
  [[nodiscard]] bool may(const WireEvent& event) const;
  void happen(const WireEvent& event);
  [[nodiscard]] bool done() const;
  // Lets random possible events happen until none is possible.
  void run(std::mt19937_64& random);

 private:
  [[nodiscard]] const WireAction& action(WirePosition p) const;
  [[nodiscard]] bool same_call(int rank, int a, int b) const;
  [[nodiscard]] bool same_communicator(const WireAction& a, const WireAction& b) const;
  [[nodiscard]] bool same_kernel(int rank, int a, int b) const;
  [[nodiscard]] bool done(int rank, int index) const;
  [[nodiscard]] bool may_start(int rank, int index) const;
  [[nodiscard]] bool may_end(int rank, int index) const;
  [[nodiscard]] WirePosition nth(int rank, WireAction::Kind kind, int whom, int n) const;
  [[nodiscard]] int number_of(int rank, int index) const;

  const WireProgram& program_;
  const WireOptions& options_;
  std::vector<std::vector<bool>> started_;
  std::vector<std::vector<bool>> ended_;
};

}  // namespace ripeline::wire
