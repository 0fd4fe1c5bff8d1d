// Tests that every library schedule is proved for any number of microbatches: for each small number
// of ranks, with its other params, and with its order as a mere preference.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

std::string verdict_of(const std::string& name, const std::map<std::string, std::int64_t>& defines,
                       const std::string& dispatch = "") {
  const spec::Source source{name, spec::library_text(name).value_or("")};
  spec::ElaborateOptions options;
  options.dispatch = dispatch;
  for (const auto& [param, value] : defines) options.defines[param] = value;
  const auto program = spec::compile(source, options);
  if (!program.ok()) return render(source, program.errors());
  const Verdict verdict = verify(program.value());
  std::string said = name_of(verdict.outcome);
  for (const Obligation& obligation : verdict.obligations) {
    if (obligation.outcome != Outcome::proved) said += " " + obligation.reason;
  }
  return said;
}

TEST(LibrarySchedules, are_proved_for_each_small_number_of_ranks) {
  for (const auto& entry : spec::library()) {
    const std::string name(entry.name);
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
      const bool slow = name == "interleaved_1f1b" || name == "chimera";  // query by remainder
      if (slow && ranks > 4) continue;
      EXPECT_EQ(verdict_of(name, {{"ranks", ranks}}), "proved") << name << " on " << ranks;
    }
  }
}

// There are so many ranks that the solver cannot answer a query about all of them at once.
TEST(LibrarySchedules, are_proved_for_a_large_number_of_ranks) {
  EXPECT_EQ(verdict_of("bfw_v", {{"ranks", 112}}), "proved");
}

TEST(LibrarySchedules, are_proved_with_their_params) {
  for (const int ranks : {1, 2, 3}) {
    for (const int chunks : {1, 3}) {
      EXPECT_EQ(verdict_of("interleaved_1f1b", {{"ranks", ranks}, {"chunks", chunks}}), "proved")
          << ranks << " x " << chunks;
    }
    EXPECT_EQ(verdict_of("hanayo", {{"ranks", ranks}, {"waves", 2}}), "proved") << ranks;
    for (const char* hint : {"bf", "fb", "b_first", "f_first", "bfw"}) {
      EXPECT_EQ(verdict_of(hint, {{"ranks", ranks}, {"limit", 32}}), "proved") << hint << ranks;
    }
  }
}

TEST(LibrarySchedules, are_proved_as_hints) {
  const std::pair<const char*, const char*> orders[] = {
      {"gpipe", "all_forwards_first"},     {"1f1b", "one_f_one_b"}, {"eager_1f1b", "eager"},
      {"interleaved_1f1b", "interleaved"}, {"zb_h1", "zb_h1"},      {"zb_h2", "zb_h2"}};
  for (const auto& [name, order] : orders) {
    EXPECT_EQ(verdict_of(name, {}, std::string("ready by ") + order), "proved") << name;
  }
}

}  // namespace
}  // namespace ripeline::verify
