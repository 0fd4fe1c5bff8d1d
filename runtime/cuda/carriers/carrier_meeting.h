// CarrierMeeting: what processes say to each other before there are carriers between them.
//
// Each part of a start (CarrierChoice, connect_by_nccl) says its words, and asks next() until it
// has heard all that it waits for. What comes of neighbours that are already past this is kept for
// later. A neighbour that is lost, or does not start, is a status; if one process does not start
// none does, for refuse() tells its neighbours why, and they theirs.
//
// Waits up to the limit, for all parts together. One thread.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/carrier_words.h"
#include "runtime/transport/transport.h"

namespace ripeline::runtime {

class Termination;

class CarrierMeeting {
 public:
  struct Word {
    int from = -1;
    CarrierWord word;
  };

  // All are borrowed; to `early` is appended what is for later. Fails when the process is told to
  // end, if there is a `termination`.
  CarrierMeeting(Transport& control, std::chrono::nanoseconds limit, std::vector<Delivery>& early,
                 const Termination* termination = nullptr);

  [[nodiscard]] int self() const { return control_.self(); }
  [[nodiscard]] const std::vector<int>& neighbours() const { return control_.neighbours(); }
  core::Status say(int to, const CarrierWord& word);
  core::Status say_to_all(const CarrierWord& word);

  // Appends what comes within `most`, which may be nothing. Fails as `timeout`, without a text,
  // when the limit is over.
  core::Status next(std::chrono::nanoseconds most, std::vector<Word>& words);
  // A word for the next part, which begins with those.
  void keep(Word word) { kept_.push_back(std::move(word)); }
  [[nodiscard]] std::vector<Word> take_kept() { return std::exchange(kept_, {}); }

  // This process does not start; waits a moment until that has left.
  void refuse(const core::Status& why);

 private:
  core::Status hear(Delivery delivery, std::vector<Word>& words);

  Transport& control_;
  std::vector<Delivery>& early_;
  const Termination* termination_;
  const core::Time until_;
  std::vector<Word> kept_;
};

// "rank 3", as texts have it.
[[nodiscard]] std::string rank_text(int process);

}  // namespace ripeline::runtime
