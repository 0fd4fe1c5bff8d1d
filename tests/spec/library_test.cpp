// Tests that every built-in schedule is valid for every number of ranks, and runs to its end.
#include "spec/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/elaborate.h"
#include "spec/machine.h"

namespace ripeline::spec {
namespace {

// Runs the program once by its dispatch. Always applies the last of the possible events, so that
// tasks end late, or start early, or both.
bool runs_to_its_end(const Program& program, int microbatches) {
  const Machine machine(program, microbatches);
  Machine::State state = machine.initial();
  for (auto events = machine.enabled(state, Machine::Chooser::dispatch); !events.empty();
       events = machine.enabled(state, Machine::Chooser::dispatch)) {
    machine.step(state, events.back());
  }
  return machine.done(state);
}

TEST(Library, holds_these_schedules) {
  std::vector<std::string_view> names;
  for (const LibraryEntry& entry : library()) names.push_back(entry.name);
  EXPECT_THAT(names, ::testing::ElementsAre("1f1b", "1f1b_hint", "b_first", "bf", "bfw", "bfw_v",
                                            "chimera", "dualpipe_v", "eager_1f1b", "f_first", "fb",
                                            "gpipe", "hanayo", "interleaved_1f1b", "megatron",
                                            "v_half", "v_min", "zb_h1", "zb_h2", "zb_v"));
}

TEST(Library, says_what_each_schedule_is) {
  for (const LibraryEntry& entry : library()) {
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_EQ(library_text(entry.name), entry.text);
  }
  EXPECT_EQ(library_text("2f2b"), std::nullopt);
}

TEST(Library, compiles_and_runs_for_every_number_of_ranks) {
  for (const LibraryEntry& entry : library()) {
    for (const int ranks : {1, 2, 3, 4, 8}) {
      const Source source{std::string(entry.name), std::string(entry.text)};
      const auto program = compile(source, {.defines = {{"ranks", ranks}}, .dispatch = ""});
      ASSERT_TRUE(program.ok()) << render(source, program.errors());
      EXPECT_EQ(program.value().ranks, ranks);
      EXPECT_TRUE(program.value().unsupported.empty());
      EXPECT_FALSE(program.value().microbatches.max.has_value());
      for (const int microbatches : {1, 2, 5}) {
        EXPECT_TRUE(runs_to_its_end(program.value(), microbatches))
            << entry.name << ", " << ranks << " ranks, " << microbatches << " microbatches";
      }
    }
  }
}

}  // namespace
}  // namespace ripeline::spec
