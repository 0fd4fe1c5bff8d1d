// CarrierMeeting: the exchange of words between processes before there are carriers between them.
//
// Each part of a start (CarrierChoice, connect_by_nccl) sends its words, and calls next() until all
// words that it waits for have come. Deliveries from neighbours that are already past the start are
// kept for later. A neighbour that is lost, or does not start, is a failure. If one process does
// not start, none does: refuse() tells its neighbours why, and they tell theirs.
//
// Waits up to the limit, for all parts together. One thread.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/carrier_words.h"
#include "runtime/transport.h"

namespace ripeline::runtime {
class Termination;
}

namespace ripeline::runtime::cuda {

class CarrierMeeting {
 public:
  struct Word {
    int from = -1;
    process::CarrierWord word;
  };

  // All are borrowed; deliveries for later are appended to `early`. With a `termination`, next()
  // fails when the process is told to end.
  CarrierMeeting(Transport& control, std::chrono::nanoseconds limit, std::vector<Delivery>& early,
                 const Termination* termination = nullptr);

  [[nodiscard]] int self() const { return control_.self(); }
  [[nodiscard]] const std::vector<int>& neighbours() const { return control_.neighbours(); }
  core::Status say(int to, const process::CarrierWord& word);
  core::Status say_to_all(const process::CarrierWord& word);

  // Appends the words that come within `most`, if any. Fails as `timeout`, without a text, when the
  // limit is over.
  core::Status next(std::chrono::nanoseconds most, std::vector<Word>& words);
  // Keeps a word for the next part of the start, which handles kept words first.
  void keep(Word word) { kept_.push_back(std::move(word)); }
  [[nodiscard]] std::vector<Word> take_kept() { return std::exchange(kept_, {}); }

  // Tells the neighbours that this process does not start; waits a moment until that has left.
  void refuse(const core::Status& why);

 private:
  core::Status hear(Delivery delivery, std::vector<Word>& words);

  Transport& control_;
  std::vector<Delivery>& early_;
  const Termination* termination_;
  const core::Time until_;
  std::vector<Word> kept_;
};

// The name of a process in texts: "rank 3".
[[nodiscard]] std::string rank_text(int process);

}  // namespace ripeline::runtime::cuda
