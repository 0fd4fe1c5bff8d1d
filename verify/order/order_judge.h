// OrderJudge: a committed order, judged by the first of these that can:
//   one count; or streams and a short range  a graph of each count
//   tasks that have times (every_count.h)    all but memory is proved, and usually memory, too
//   counts that are linear                   cuts for all; with streams, graphs for small counts
//   not linear, and a short range            a graph of each count
//   not linear, and a long or open range     graphs of the first counts; one may refute, else the
//                                            answer is unknown, with the counts judged
// One thread.
#pragma once

#include <memory>

#include "verify/judge/judge.h"
#include "verify/order/cuts.h"
#include "verify/verify.h"

namespace ripeline::verify {

class OrderJudge final : public Judge {
 public:
  OrderJudge(const spec::Program& program, const VerifyOptions& options)
      : OrderJudge(program, options, program) {}
  // `asked` is the input of cuts, the program's own or one with a mistake that a test plants. If it
  // changes how repeats are read, only cuts are used.
  OrderJudge(const spec::Program& program, const VerifyOptions& options, CutInput asked)
      : program_(program), options_(options), asked_(std::move(asked)) {}
  [[nodiscard]] Finding once() override { return chosen().once(); }
  [[nodiscard]] Finding deadlock() override { return chosen().deadlock(); }
  [[nodiscard]] MemoryFinding memory() override { return chosen().memory(); }

 private:
  // The judge. Choosing it is counted in the time of the first obligation.
  [[nodiscard]] Judge& chosen();

  const spec::Program& program_;
  VerifyOptions options_;
  CutInput asked_;
  std::unique_ptr<Judge> chosen_;
};

}  // namespace ripeline::verify
