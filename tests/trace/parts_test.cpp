// Tests the parts of a trace: an appended step is not lost whatever happens next, and the parts
// give the same file as if it had been written at once.
#include "trace/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lower/facts.h"
#include "spec/elaborate.h"
#include "tests/runtime/ranks.h"
#include "tests/support/scarce.h"
#include "trace/read.h"
#include "trace/write.h"

namespace ripeline::trace {
namespace {

namespace fs = std::filesystem;
using core::Time;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kText = R"(
pipeline chain { microbatches any; stages 3; place s on s;
  op F forward { needs F at prev; } op B backward { needs F at here, B at next; }
  op P { needs F at here; }  pair F, P; dispatch ready; })";

core::OwnedFacts facts_of(const std::string& text) {
  return lower::facts_of(spec::compile({"chain.ripe", text}).value());
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The record of a rank's step: two tasks in each of its lanes, some of which overlap; messages; and
// an idle time.
Record step_of(const core::ProgramFacts& facts, int rank, std::int64_t step) {
  Record record;
  Time at{1'000'000 * step + rank};
  for (std::size_t i = 0; i < facts.lanes.size(); ++i) {
    if (facts.lanes[i].rank != rank) continue;
    for (int m = 0; m < 2; ++m, at += Time{1001}) {
      record.task(step, {static_cast<core::LaneId>(i), m}, at, at + Time{1500});
    }
  }
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const core::LaneId to = facts.edges[i].consumer;
    if (facts.lanes[static_cast<std::size_t>(to)].rank != rank) continue;
    record.message(step, {static_cast<core::EdgeId>(i), 0}, at, at + Time{7});
  }
  record.idle.push_back({.rank = rank, .next = {}, .start = at, .end = at + Time{1}, .step = step});
  return record;
}

void append(Record& to, const Record& from) {
  to.tasks.insert(to.tasks.end(), from.tasks.begin(), from.tasks.end());
  to.messages.insert(to.messages.end(), from.messages.begin(), from.messages.end());
  to.idle.insert(to.idle.end(), from.idle.begin(), from.idle.end());
}

std::size_t events_of(const Record& record) {
  return record.tasks.size() + record.messages.size() + record.idle.size();
}

class Parts : public testing::Test {
 protected:
  Parts() : trace_(temporary_.path() + "/run.json"), folder_(parts_folder(trace_)) {
    fs::create_directory(folder_);
  }

  [[nodiscard]] About about_of(int rank, std::uint64_t run = 7) const {
    About about(facts_.facts(), {.microbatches = 2, .seed = 5});
    about.part = {rank, run};
    return about;
  }
  // Writes a part with one step.
  void write_part(int rank, std::uint64_t run = 7) const {
    const About about = about_of(rank, run);
    PartWriter part(folder_, about);
    ASSERT_EQ(part.append(step_of(facts_.facts(), rank, 0)).message(), "");
  }

  testing_support::TemporaryFolder temporary_;
  std::string trace_;
  std::string folder_;
  core::OwnedFacts facts_ = facts_of(kText);
};

TEST_F(Parts, make_the_same_file_as_if_it_were_written_at_once) {
  constexpr int kSteps = 5;
  std::vector<Record> whole(3);
  for (int rank = 0; rank < 3; ++rank) {
    const About about = about_of(rank);
    PartWriter part(folder_, about);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const Record record = step_of(facts_.facts(), rank, step);
      append(whole[static_cast<std::size_t>(rank)], record);
      ASSERT_EQ(part.append(record).message(), "");
      ASSERT_EQ(part.append({}).message(), "");
    }
  }
  auto reading = read(folder_);
  ASSERT_EQ(reading.message(), "");
  File& file = reading.value();
  EXPECT_THAT(file.notes, IsEmpty());
  EXPECT_FALSE(file.about.part.has_value());

  ASSERT_EQ(finish_parts(trace_).message(), "");
  EXPECT_FALSE(fs::exists(folder_));
  const std::string at_once = temporary_.path() + "/at_once.json";
  const About about(facts_.facts(), {.microbatches = 2, .seed = 5});
  Writer writer(at_once, about);
  Record all;
  for (const Record& record : whole) {
    writer.add(record);
    append(all, record);
  }
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(text_of(trace_), text_of(at_once));
  EXPECT_EQ(file.record, all);
}

TEST_F(Parts, are_traces_themselves_after_each_append) {
  const About about = about_of(1);
  PartWriter part(folder_, about);
  Record all;
  for (std::int64_t step = 0; step < 3; ++step) {
    EXPECT_TRUE(nlohmann::json::accept(text_of(part_path(folder_, 1))));
    auto reading = read(part_path(folder_, 1));
    ASSERT_EQ(reading.message(), "");
    File& file = reading.value();
    EXPECT_EQ(file.record, all);
    EXPECT_EQ(file.about.part, (Part{.rank = 1, .run = 7}));
    append(all, step_of(facts_.facts(), 1, step));
    ASSERT_TRUE(part.append(step_of(facts_.facts(), 1, step)).ok());
  }
}

// Wherever an append is cut off by the death of the process, all earlier steps and all complete
// events of this append can be read.
TEST_F(Parts, whose_end_is_cut_off_have_all_whole_events) {
  const std::string path = part_path(folder_, 0);
  const About about = about_of(0);
  PartWriter part(folder_, about);
  ASSERT_TRUE(part.append(step_of(facts_.facts(), 0, 0)).ok());
  const std::string before = text_of(path);
  ASSERT_TRUE(part.append(step_of(facts_.facts(), 0, 1)).ok());
  const std::string after = text_of(path);
  const std::size_t begin = before.size() - std::string(kClosing).size();
  const std::size_t in_step = events_of(step_of(facts_.facts(), 0, 0));
  std::size_t read_last = 0;
  // Tries every cut except that before the last byte, whose loss changes nothing.
  for (std::size_t end = begin; end + 1 < after.size(); ++end) {
    std::string text = after.substr(0, end);
    if (end < before.size()) text += before.substr(end);
    auto reading = read_text(text);
    ASSERT_EQ(reading.message(), "") << "cut at byte " << end;
    File& file = reading.value();
    const std::size_t events = events_of(file.record);
    // If only a comma has replaced the old brackets, the event before the comma is lost too.
    EXPECT_GE(events + (end < begin + 4 ? 1 : 0), in_step) << "cut at byte " << end;
    EXPECT_GE(events + 1, read_last);
    read_last = events;
    if (end > begin) {
      EXPECT_THAT(file.notes, ElementsAre(HasSubstr("its end is cut off"))) << end;
    }
  }
  EXPECT_EQ(read_last, 2 * in_step);
}

TEST_F(Parts, with_one_cut_off_or_missing_make_a_trace_that_says_so) {
  write_part(0);
  write_part(2);
  fs::resize_file(part_path(folder_, 2), fs::file_size(part_path(folder_, 2)) - 30);
  std::vector<std::string> notes;
  ASSERT_EQ(merge_parts(folder_, trace_, &notes).message(), "");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("rank-2.json: its end is cut off"),
                                 HasSubstr("run.json.parts: the part of rank 1 is not here")));
  auto reading = read(trace_);
  ASSERT_EQ(reading.message(), "");
  File& file = reading.value();
  EXPECT_THAT(file.notes, IsEmpty());

  // If a run ends well, its file must have all events.
  std::ofstream(trace_) << "good";
  EXPECT_THAT(finish_parts(trace_).message(),
              HasSubstr("bytes of half an event are left out; the parts stay: `ripeline show " +
                        folder_ + " --trace " + trace_ + "` makes one trace of them"));
  EXPECT_EQ(text_of(trace_), "good");
  EXPECT_TRUE(fs::exists(part_path(folder_, 0)));
}

TEST_F(Parts, of_several_runs_or_programs_are_refused_with_both_names) {
  write_part(0);
  write_part(1, 8);
  const core::Status runs = read(folder_).status();
  EXPECT_EQ(runs.code(), core::StatusCode::refused);
  const std::string hash = about_of(0).identity().substr(about_of(0).identity().find("hash"));
  EXPECT_EQ(runs.message(),
            part_path(folder_, 1) + " is of run 0000000000000008 of program chain, " + hash +
                ", and " + part_path(folder_, 0) + " of run 0000000000000007 of program chain, " +
                hash + ": parts of one trace are of one run");

  const core::OwnedFacts others = facts_of(
      "pipeline other { microbatches any; stages 3; place s on s; op F forward { } "
      "dispatch ready; }");
  About other(others.facts(), {.microbatches = 2});
  other.part = {1, 7};
  const PartWriter part(folder_, other);
  const std::string programs = merge_parts(folder_, trace_, nullptr).message();
  EXPECT_THAT(programs, HasSubstr("program other"));
  EXPECT_THAT(programs, HasSubstr("program chain"));

  write_part(1);
  fs::copy_file(part_path(folder_, 1), part_path(folder_, 2));
  EXPECT_EQ(read(folder_).message(),
            part_path(folder_, 2) + " and " + part_path(folder_, 1) + " are both of rank 1");
  EXPECT_FALSE(fs::exists(trace_));
}

TEST_F(Parts, are_what_a_folder_must_have) {
  EXPECT_EQ(read(folder_).message(),
            folder_ + ": there is no part of a trace in this folder, as rank-0.json");
  const About about(facts_.facts(), {.microbatches = 2});
  Writer writer(part_path(folder_, 0), about);
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_THAT(read(folder_).message(), HasSubstr("this is a whole trace, and no part"));
  std::ofstream(part_path(folder_, 0)) << "{}";
  EXPECT_THAT(read(folder_).message(), HasSubstr("rank-0.json: it has no otherData"));
  EXPECT_THAT(merge_parts("/nowhere", trace_, nullptr).message(),
              HasSubstr("/nowhere: cannot be read"));
}

TEST_F(Parts, on_a_full_disk_keep_what_they_have) {
  const std::string path = part_path(folder_, 0);
  const auto said = testing_support::with_small_files(6000, [&]() -> std::string {
    const About about = about_of(0);
    PartWriter part(folder_, about);
    for (std::int64_t step = 0; step < 100; ++step) {
      const core::Status status = part.append(step_of(facts_.facts(), 0, step));
      if (status.ok()) continue;
      const auto found = read(path);
      if (!found.ok() || !found.value().notes.empty()) return "not readable: " + found.message();
      if (part.append(step_of(facts_.facts(), 0, step)).ok()) return "it goes on";
      const bool whole = found.value().record.tasks.size() ==
                         2 * facts_.facts().lanes.size() / 3 * static_cast<std::size_t>(step);
      return std::string(whole && step > 0 ? "whole steps; " : "some events; ") + status.message();
    }
    return "it never fails";
  });
  if (!said) GTEST_SKIP() << "no limit can be set";
  EXPECT_EQ(*said, "whole steps; " + path + ": cannot be written: File too large");
}

TEST_F(Parts, that_cannot_be_begun_are_not_there) {
  const About about = about_of(0);
  const PartWriter nowhere("/nowhere", about);
  EXPECT_EQ(nowhere.failure().message(),
            "/nowhere/rank-0.json: cannot be written: No such file or directory");
  const auto said = testing_support::with_small_files(100, [&] {
    const PartWriter part(folder_, about);
    return part.failure().message() + (fs::is_empty(folder_) ? "" : " and it is there");
  });
  if (!said) GTEST_SKIP() << "no limit can be set";
  EXPECT_EQ(*said, part_path(folder_, 0) + ": cannot be written: File too large");
}

}  // namespace
}  // namespace ripeline::trace
