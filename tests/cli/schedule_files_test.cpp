// Tests schedules of PyTorch (CSV) as the FILE of a command: which files are accepted, that they
// run in their own order, and the message for a schedule that cannot run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>

#include "tests/cli/program.h"
#include "tests/pytorch/dualpipe_v.h"

namespace ripeline::cli::schedule_files_test {
namespace {

// 1F1B on two ranks with empty cells, as `ripeline export` writes it.
constexpr const char* kGood = "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1\n";
// Each rank waits for a task that the other one runs later.
constexpr const char* kHangs = "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n";
// A V of four stages on two ranks.
constexpr const char* kV = "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n";
constexpr const char* kMixed = "0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1I1,1W1\n";

class ScheduleFiles : public CliTest {
 protected:
  bool says(const Outcome& outcome, const std::string& text) {
    return outcome.out.find(text) != std::string::npos;
  }
};

TEST_F(ScheduleFiles, every_command_takes_one) {
  write("good.csv", kGood);
  for (const char* arguments :
       {"verify good.csv", "simulate good.csv -m 2", "show good.csv", "why good.csv 1B1",
        "step good.csv < /dev/null", "compare good.csv good.csv",
        "optimise good.csv --orders given -m 2", "emulate good.csv -m 2 --unit 1ms",
        "export good.csv -m 2 -o again.csv", "generate good.csv --name good -o good.h",
        "verify - < good.csv", "simulate - -m 2 < good.csv", "check - < good.csv"}) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << '\n' << outcome.out;
  }
  EXPECT_EQ(read("again.csv"), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  EXPECT_NE(read("good.h").find("namespace good"), std::string::npos);
}

// The library's 1F1B has the same order, and with the same costs the same times.
TEST_F(ScheduleFiles, run_as_the_program_with_that_order) {
  ASSERT_EQ(ripeline("export 1f1b -D ranks=4 -m 6 -o four.csv").exit_code, 0);
  const auto makespan = [&](const std::string& arguments) {
    const Outcome outcome =
        ripeline("simulate " + arguments + " -m 6 --format json", "2>/dev/null");
    return nlohmann::json::parse(outcome.out).at("wall").get<double>();
  };
  EXPECT_EQ(makespan("four.csv"), makespan("1f1b -D ranks=4"));
  EXPECT_EQ(makespan("four.csv -D f=3 -D b=7"), makespan("1f1b -D ranks=4 -D f=3 -D b=7"));
  EXPECT_NE(makespan("four.csv"), makespan("four.csv -D b=3"));
}

TEST_F(ScheduleFiles, are_compared_for_their_number_of_microbatches) {
  write("two.csv", kGood);
  ASSERT_EQ(ripeline("export 1f1b -D ranks=2 -m 3 -o three.csv").exit_code, 0);
  const auto makespan_of_program = [&](const std::string& arguments) {
    const Outcome outcome = ripeline("compare " + arguments + " --format json", "2>/dev/null");
    const auto json = nlohmann::json::parse(outcome.out);
    for (const auto& run : json.at("runs")) {
      if (run.at("title") == "1f1b") return run.at("wall").get<double>();
    }
    return 0.0;
  };
  // Without the file, 1f1b would run with twice as many ranks.
  const double two = makespan_of_program("1f1b -D ranks=2 -m 2");
  EXPECT_NE(two, makespan_of_program("1f1b -D ranks=2"));
  EXPECT_EQ(makespan_of_program("two.csv 1f1b"), two);
  EXPECT_EQ(makespan_of_program("1f1b two.csv"), two);
  const Outcome taken = ripeline("compare two.csv 1f1b");
  EXPECT_TRUE(says(taken, "note: all are run with 2 microbatches, the only number of two.csv"))
      << taken.out;
  EXPECT_FALSE(says(ripeline("compare two.csv 1f1b -m 2"), "microbatches, the only number"))
      << "it was said by -m";
  const Outcome differ = ripeline("compare two.csv three.csv 1f1b");
  EXPECT_EQ(differ.exit_code, 0);
  EXPECT_TRUE(
      says(differ, "note: the numbers of microbatches differ: two.csv 2, three.csv 3, 1f1b 4"))
      << differ.out;
  ASSERT_EQ(ripeline("simulate 1f1b -m 5 --trace run.json").exit_code, 0);
  EXPECT_TRUE(says(ripeline("compare run.json 1f1b"),
                   "note: all are run with 5 microbatches, the only number of run.json"));
}

TEST_F(ScheduleFiles, that_hang_are_refuted_and_seen_to_stick) {
  write("hangs.csv", kHangs);
  const Outcome verdict = ripeline("verify hangs.csv");
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_TRUE(says(verdict, "hangs.csv: refuted, for 2 microbatches")) << verdict.out;
  EXPECT_TRUE(says(verdict, "0B0 waits for 1B0")) << verdict.out;
  EXPECT_TRUE(says(verdict, "`ripeline check hangs.csv --fix FILE`")) << verdict.out;
  EXPECT_FALSE(says(verdict, "hangs.csv:1")) << "a place of no file: " << verdict.out;
  for (const char* arguments : {"simulate hangs.csv -m 2", "show hangs.csv"}) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << arguments;
    EXPECT_TRUE(says(outcome, "1F1 waits for 0F1")) << outcome.out;
  }
}

TEST_F(ScheduleFiles, name_what_is_missing_as_what_is_waited_for) {
  write("lacks.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1\n");
  const Outcome checked = ripeline("check lacks.csv");
  EXPECT_TRUE(says(
      checked,
      "row 2 (rank 1): [missing] 1B1: microbatch 1 never runs backward at stage 1; 0B1 (row 1, "
      "column 4) waits for it"))
      << checked.out;
  const Outcome run = ripeline("simulate lacks.csv -m 2");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(says(run, "note: lacks.csv: 1B1 is missing: ")) << run.out;
}

TEST_F(ScheduleFiles, are_placed_as_they_fit_or_as_the_flag_says) {
  write("v.csv", kV);
  EXPECT_EQ(ripeline("verify v.csv").exit_code, 0);
  EXPECT_EQ(ripeline("simulate v.csv -m 1 --placement v").exit_code, 0);
  const Outcome loop = ripeline("simulate v.csv -m 1 --placement loop");
  EXPECT_EQ(loop.exit_code, 2);
  EXPECT_TRUE(says(loop,
                   "v.csv:1:5: error[csv-owner]: 3F0: stage 3 is on rank 1 with placement "
                   "loop; row 1 is rank 0"))
      << loop.out;
  EXPECT_TRUE(says(loop, "--placement chain, loop or v")) << loop.out;
  const Outcome chain = ripeline("simulate v.csv -m 1 --placement chain");
  EXPECT_EQ(chain.exit_code, 2);
  EXPECT_TRUE(says(chain, "there is no stage 3")) << chain.out;
}

TEST_F(ScheduleFiles, with_other_cells_than_their_ops_say_what_is_left_out) {
  write("mixed.csv", kMixed);
  const Outcome mixed = ripeline("verify mixed.csv");
  EXPECT_EQ(mixed.exit_code, 0) << mixed.out;
  EXPECT_FALSE(says(mixed, "each B is run")) << mixed.out;
  write("good.csv", kGood);
  ASSERT_EQ(ripeline("export good.csv -m 2 --form compute_comms -o comms.csv").exit_code, 0);
  const Outcome comms = ripeline("simulate comms.csv -m 2");
  EXPECT_EQ(comms.exit_code, 0) << comms.out;
  EXPECT_TRUE(says(comms, "note: comms.csv: its communication is left out")) << comms.out;
  write("overlap.csv", "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_EQ(ripeline("verify overlap.csv").exit_code, 0);
  EXPECT_EQ(ripeline("simulate overlap.csv -m 3").exit_code, 0);
}

// A whole backward sends its gradient when it ends, even if other backwards are split.
TEST_F(ScheduleFiles, with_whole_and_split_backwards_take_their_time) {
  write("c5_min.csv", "0F0,0I0,0W0\n1F0,1B0\n");
  write("c5_minB.csv", "0F0,0B0\n1F0,1B0\n");
  const auto makespan = [&](const std::string& arguments) {
    const Outcome outcome = ripeline("simulate " + arguments + " --format json", "2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0) << arguments;
    return nlohmann::json::parse(outcome.out).at("wall").get<double>();
  };
  EXPECT_EQ(makespan("c5_min.csv"), 6);
  EXPECT_EQ(makespan("c5_minB.csv"), 6);
  EXPECT_EQ(makespan("c5_min.csv -D i=2"), 8) << "b is i + w";
  EXPECT_EQ(makespan("c5_min.csv --rank-costs F=1,B=4"), 10);
  const auto compared = nlohmann::json::parse(
      ripeline("compare c5_min.csv c5_minB.csv --format json", "2>/dev/null").out);
  EXPECT_EQ(compared.at("runs").at(0).at("wall"), 6);
  EXPECT_EQ(compared.at("runs").at(1).at("wall"), 6);
  EXPECT_EQ(compared.at("equal_work"), true);
  EXPECT_TRUE(says(ripeline("show c5_min.csv"), "rank 1  ..F0B0--...."))
      << ripeline("show c5_min.csv").out;
  // PyTorch's DualPipe-V has the published bubble, and a smaller one if a pair saves time.
  write("v.csv", ripeline::testing_support::dualpipe_v(4, 10));
  EXPECT_EQ(makespan("v.csv"), 66);
  EXPECT_EQ(makespan("v.csv -D together=3"), 66);
  EXPECT_LT(makespan("v.csv -D together=2"), 66);
  ASSERT_EQ(ripeline("export v.csv -m 10 -o again.csv").exit_code, 0);
  EXPECT_NE(read("again.csv").find("0B5,"), std::string::npos);
  // The two tasks of a pair are written one after the other, so the first gradient leaves earlier.
  EXPECT_LE(makespan("again.csv"), 66);
}

// If a profile has only split backwards, a whole one takes the sum of the halves.
TEST_F(ScheduleFiles, take_the_halves_of_a_profile_for_a_whole_backward) {
  write("c5_min.csv", "0F0,0I0,0W0\n1F0,1B0\n");
  write("halves.json",
        R"({"schema": "ripeline.profile/1", "unit": "ms", "tasks": [{"op": "F", "mean": 2},
           {"op": "I", "mean": 3}, {"op": "W", "mean": 5}]})");
  write("whole.json",
        R"({"schema": "ripeline.profile/1", "unit": "ms", "tasks": [{"op": "F", "mean": 2},
           {"op": "I", "mean": 3}, {"op": "W", "mean": 5}, {"op": "B", "stage": 1, "mean": 7}]})");
  const auto run = [&](const std::string& profile) {
    return ripeline("simulate c5_min.csv --profile " + profile + " --format json", "2>profile.txt");
  };
  EXPECT_EQ(nlohmann::json::parse(run("halves.json").out).at("wall"), 2 + 2 + 8 + 8);
  EXPECT_EQ(read("profile.txt").find("no cost of"), std::string::npos) << read("profile.txt");
  EXPECT_EQ(nlohmann::json::parse(run("whole.json").out).at("wall"), 2 + 2 + 7 + 8);
}

TEST_F(ScheduleFiles, with_whole_and_split_backwards_are_searched_as_they_are) {
  write("v.csv", ripeline::testing_support::dualpipe_v(2, 6));
  const Outcome searched = ripeline("optimise v.csv --solver none --seconds 1 -o better.ripe");
  ASSERT_EQ(searched.exit_code, 0) << searched.out;
  EXPECT_EQ(ripeline("verify better.ripe").exit_code, 0) << ripeline("verify better.ripe").out;
  ASSERT_EQ(ripeline("export better.ripe -m 6 -o better.csv").exit_code, 0);
  const auto whole = [](const std::string& text) {
    return std::count(text.begin(), text.end(), 'B');
  };
  const std::string exported = read("better.csv");
  std::string alone = read("v.csv");
  for (std::size_t at = alone.find("OVERLAP_F_B"); at != std::string::npos;
       at = alone.find("OVERLAP_F_B")) {
    alone.erase(at, 11);
  }
  EXPECT_EQ(whole(exported), whole(alone)) << "what is whole stays whole";
}

// Traces and headers keep a schedule with over 64 microbatches, some of them with whole backwards.
TEST_F(ScheduleFiles, with_any_whole_backwards_go_through_traces_and_headers) {
  write("v.csv", ripeline::testing_support::dualpipe_v(2, 90));
  EXPECT_EQ(ripeline("verify v.csv").exit_code, 0);
  ASSERT_EQ(ripeline("simulate v.csv --trace run.json").exit_code, 0);
  const Outcome compared = ripeline("compare run.json v.csv --format json", "2>/dev/null");
  const auto runs = nlohmann::json::parse(compared.out).at("runs");
  EXPECT_EQ(runs.at(0).at("wall"), 6 * 90 + 2);
  EXPECT_EQ(runs.at(1).at("wall"), 6 * 90 + 2);
  EXPECT_EQ(ripeline("why v.csv 3B40").exit_code, 0) << ripeline("why v.csv 3B40").out;
  ASSERT_EQ(ripeline("generate v.csv --name v -o v.h").exit_code, 0);
  EXPECT_NE(read("v.h").find("core::Share::of_words(90, kShareOfLane"), std::string::npos);
  const Outcome ready = ripeline("verify v.csv --dispatch ready");
  EXPECT_EQ(ready.exit_code, 3);
  EXPECT_TRUE(says(ready, "a period above 64")) << ready.out;
}

TEST_F(ScheduleFiles, that_are_neither_form_are_said_so_once) {
  write("notes.txt", "Ask Ada, on Monday,\nwhether 0F0 is right\n\n1,2,3\n");
  write("table.csv", "step,loss\n0,5.5\n1,5.25\n");
  for (const char* command : {"verify", "check", "simulate -m 2", "show", "format"}) {
    for (const char* file : {"notes.txt", "table.csv"}) {
      const Outcome outcome = ripeline(std::string(command) + " " + file);
      EXPECT_EQ(outcome.exit_code, 2) << command;
      EXPECT_TRUE(says(outcome, std::string(file) +
                                    ": neither a program nor a schedule of PyTorch. A program "
                                    "begins with `pipeline NAME {`; a schedule (CSV) has a row for "
                                    "each rank, of cells like 0F0"))
          << outcome.out;
      EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
    }
  }
}

TEST_F(ScheduleFiles, that_are_empty_are_said_so_by_every_command) {
  write("runs/empty.csv", "");
  write("blank.csv", " \n\t\r\n");
  write("empty.ripe", "");
  for (const char* command : {"check", "verify", "simulate", "format", "compare", "export -o x"}) {
    for (const char* file : {"runs/empty.csv", "blank.csv", "empty.ripe"}) {
      const Outcome outcome = ripeline(std::string(command) + " " + file);
      EXPECT_EQ(outcome.exit_code, 2) << command;
      EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')),
                "ripeline: " + std::string(file) + ": the file is empty");
    }
  }
  for (const char* command : {"check runs", "verify runs"}) {
    const Outcome outcome = ripeline(command);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_TRUE(says(outcome, "runs/empty.csv: the file is empty")) << outcome.out;
  }
}

TEST_F(ScheduleFiles, that_are_missing_are_no_library_schedules_where_none_is_taken) {
  write("good.csv", kGood);
  for (const char* file : {"nowhere.csv", "god.csv", "1f1", "gibberish"}) {
    const Outcome checked = ripeline(std::string("check ") + file);
    EXPECT_EQ(checked.exit_code, 2);
    EXPECT_TRUE(says(checked, std::string(file) + ": there is no file /")) << checked.out;
    EXPECT_FALSE(says(checked, "library") || says(checked, "1f1b")) << checked.out;
  }
  EXPECT_TRUE(says(ripeline("check god.csv"), "Did you mean good.csv?"));
  EXPECT_TRUE(says(ripeline("verify gibberish"), "`ripeline library` lists them"));
}

TEST_F(ScheduleFiles, repaired_say_how_many_cells_moved_and_what_is_held) {
  const auto fix = [&](const char* schedule) {
    write("given.csv", schedule);
    return ripeline("check given.csv --fix fixed.csv");
  };
  const Outcome less = fix("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_EQ(less.exit_code, 0);
  EXPECT_TRUE(says(less, "  1 cell moved, the fewest that do\n")) << less.out;
  EXPECT_TRUE(says(less, "  peak activations: 1 2 before, 1 1 now\n")) << less.out;
  // A single cell can be moved only on rank 0, whose peak then becomes two.
  const Outcome more = fix("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n");
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_TRUE(says(more, "  1 cell moved, the fewest that do\n")) << more.out;
  EXPECT_TRUE(says(more, "  peak activations: 1 1 before, 2 1 now\n")) << more.out;
  const Outcome within = ripeline("check given.csv --fix fixed.csv --memory 1");
  EXPECT_EQ(within.exit_code, 0);
  EXPECT_TRUE(says(within, "  2 cells moved, the fewest that do\n")) << within.out;
  EXPECT_TRUE(says(within, "  peak activations: 1 1 before, 1 1 now\n")) << within.out;
  const Outcome dropped = fix("0F0,0F0,0B0\n1F0,1B0\n");
  EXPECT_EQ(dropped.exit_code, 0);
  EXPECT_FALSE(says(dropped, "moved")) << dropped.out;
}

TEST_F(ScheduleFiles, with_cells_in_quotes_are_run_as_others_are) {
  write("quoted.csv",
        "\"0F0\",\"0F1\",\"\",\"0B0\",\"0B1\"\r\n\"1F0\",\"1B0\",\"1F1\",\"1B1\"\r\n");
  EXPECT_EQ(ripeline("check quoted.csv").exit_code, 0);
  EXPECT_EQ(ripeline("simulate quoted.csv").exit_code, 0);
  EXPECT_EQ(ripeline("verify quoted.csv").exit_code, 0);
}

TEST_F(ScheduleFiles, with_another_separator_are_refused_by_its_name) {
  write("semicolons.csv", "0F0;0B0\n1F0;1B0\n");
  const Outcome run = ripeline("simulate semicolons.csv");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(says(run,
                   "semicolons.csv:1:1: error[csv-file]: cells are separated by semicolons, "
                   "expected commas"))
      << run.out;
  EXPECT_EQ(ripeline("check semicolons.csv --fix commas.csv").exit_code, 0);
  EXPECT_EQ(ripeline("simulate commas.csv").exit_code, 0);
}

// A million cells take only some hundred bytes of memory each.
TEST_F(ScheduleFiles, of_a_million_cells_take_little_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  constexpr int kRanks = 64;
  constexpr int kMicrobatches = 8192;
  constexpr long kMostKilobytes = 400'000;
  std::string text;
  for (int r = 0; r < kRanks; ++r) {
    for (int m = 0; m < kMicrobatches + kRanks - r - 1; ++m) {
      if (m < kMicrobatches) text += fmt::format("{}F{},", r, m);
      if (m >= kRanks - r - 1) text += fmt::format("{}B{},", r, m - kRanks + r + 1);
    }
    text.back() = '\n';
  }
  write("large.csv", text);
  const std::string measured = fmt::format(
      "cd '{}' && /usr/bin/python3 -c \"import resource, subprocess, sys; "
      "failed = subprocess.call(['{}', 'check', 'large.csv'], stdout=subprocess.DEVNULL); "
      "print('kilobytes', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); "
      "sys.exit(failed or resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > {})\"",
      folder_.string(), RIPELINE_PROGRAM, kMostKilobytes);
  EXPECT_EQ(std::system(measured.c_str()), 0);
}

TEST_F(ScheduleFiles, and_programs_are_told_apart_by_what_is_in_them) {
  write("schedule.txt", kGood);
  EXPECT_EQ(ripeline("verify schedule.txt").exit_code, 0);
  ASSERT_EQ(ripeline("library 1f1b > program.csv").exit_code, 0);
  EXPECT_EQ(ripeline("verify program.csv -D microbatches=2").exit_code, 0);
  const Outcome checked = ripeline("check program.csv");
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_TRUE(says(checked, "this is a program of the language")) << checked.out;
  EXPECT_TRUE(says(ripeline("format schedule.txt"), "this is a schedule of PyTorch"));
  // A program with an error in its first word is still reported with the error's position.
  write("broken.ripe", "pipelin x { }\n");
  EXPECT_TRUE(says(ripeline("verify broken.ripe"), "broken.ripe:1:1: error[parse-no-pipeline]"));
}

TEST_F(ScheduleFiles, with_a_wrong_cell_are_shown_with_the_cell) {
  write("bad.csv", "0F0,0F1,0B0junk,0B1\r\n1F0,1B0,1F1,1B1\r\n");
  const Outcome verdict = ripeline("verify bad.csv --format json", "2>/dev/null");
  EXPECT_EQ(verdict.exit_code, 2);
  const auto error = nlohmann::json::parse(verdict.out).at("errors").at(0);
  EXPECT_EQ(error.at("id"), "csv-cell");
  EXPECT_EQ(error.at("line"), 1);
  EXPECT_EQ(error.at("column"), 9);
  const Outcome run = ripeline("simulate bad.csv -m 2");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(says(run, "bad.csv:1:9: error[csv-cell]: 0B0junk: ")) << run.out;
}

TEST_F(ScheduleFiles, of_folders_and_several_files_are_judged_together) {
  write("runs/good.csv", kGood);
  write("runs/deep/hangs.csv", kHangs);
  write("runs/losses.csv", "step,loss\n0,5.5\n");  // a table, but not a schedule
  ASSERT_EQ(ripeline("library bf > runs/bf.ripe").exit_code, 0);
  const Outcome verdicts = ripeline("verify runs");
  EXPECT_EQ(verdicts.exit_code, 1);
  EXPECT_TRUE(says(verdicts, "3 programs: 2 proved, 1 refuted; 1 file skipped\n")) << verdicts.out;
  const Outcome checks = ripeline("check runs");
  EXPECT_EQ(checks.exit_code, 1);
  EXPECT_TRUE(says(checks, "2 schedules: 1 proved, 1 refuted; 2 files skipped\n")) << checks.out;
  EXPECT_TRUE(says(checks,
                   "note: skipped 1 file in the language, which `ripeline verify` judges: "
                   "runs/bf.ripe\n"))
      << checks.out;
  const auto list =
      nlohmann::json::parse(ripeline("check runs runs/bf.ripe --format json", "2>/dev/null").out);
  EXPECT_EQ(list.at("schema"), "ripeline.check.list/2");
  ASSERT_EQ(list.at("schedules").size(), 3u);
  EXPECT_EQ(list.at("schedules").at(0).at("file"), "runs/deep/hangs.csv");
  EXPECT_EQ(list.at("schedules").at(0).at("schema"), "ripeline.check/2");
  EXPECT_EQ(list.at("schedules").at(2).at("verdict"), "bad input");
  ASSERT_EQ(list.at("skipped").size(), 2u);
  EXPECT_EQ(list.at("skipped").at(0).at("file"), "runs/bf.ripe");
  EXPECT_EQ(list.at("skipped").at(1).at("reason"), "without an action of PyTorch in any cell");
  const auto sarif =
      nlohmann::json::parse(ripeline("check runs --format sarif", "2>/dev/null").out);
  EXPECT_EQ(sarif.at("runs").at(0).at("properties").at("skipped"), list.at("skipped"));
  EXPECT_EQ(nlohmann::json::parse(ripeline("verify runs --format json", "2>/dev/null").out)
                .at("skipped")
                .size(),
            1u);
  EXPECT_EQ(ripeline("check runs --fix fixed.csv").exit_code, 2);
  write("empty/losses.csv", "step,loss\n");
  EXPECT_EQ(ripeline("check empty").exit_code, 2);
  EXPECT_EQ(ripeline("verify empty").exit_code, 2);
}

TEST_F(ScheduleFiles, of_folders_may_shout_and_what_is_none_is_named) {
  write("runs/UP.CSV", kHangs);
  write("runs/deep/typo.csv", "OF0,OF1\nlF0,lF1\n");
  write("runs/LOSSES.Csv", "step,loss\n0,5.5\n");
  write("runs/readme.txt", "nothing\n");
  for (const char* command : {"check runs", "verify runs", "check runs --format json"}) {
    const Outcome outcome = ripeline(command);
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_TRUE(says(outcome, "runs/UP.CSV")) << outcome.out;
    EXPECT_TRUE(says(outcome,
                     "note: skipped 2 files without an action of PyTorch in any cell: "
                     "runs/LOSSES.Csv, runs/deep/typo.csv\n"))
        << outcome.out;
  }
  const Outcome none = ripeline("check runs/deep");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(says(none, "skipped 1 file without")) << none.out;
  EXPECT_TRUE(says(none, "cell: runs/deep/typo.csv")) << none.out;
  write("good/good.csv", kGood);
  EXPECT_FALSE(says(ripeline("check good"), "note: "));
}

TEST_F(ScheduleFiles, checked_make_a_sarif_log_with_regions) {
  write("hangs.csv", kHangs);
  const Outcome outcome = ripeline("check hangs.csv --format sarif", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 1);
  const auto run = nlohmann::json::parse(outcome.out).at("runs").at(0);
  const auto result = run.at("results").at(0);
  EXPECT_EQ(result.at("ruleId"), "deadlock");
  EXPECT_EQ(run.at("tool")
                .at("driver")
                .at("rules")
                .at(result.at("ruleIndex").get<std::size_t>())
                .at("id"),
            "deadlock");
  const auto place = result.at("locations").at(0).at("physicalLocation");
  EXPECT_EQ(place.at("artifactLocation").at("uri"), "hangs.csv");
  EXPECT_EQ(place.at("region").at("startLine"), 1);
  EXPECT_EQ(place.at("region").at("startColumn"), 5);
  EXPECT_EQ(place.at("region").at("endColumn"), 8);
  EXPECT_EQ(run.at("properties").at("programs").at(0).at("verdict"), "refuted");
  write("good.csv", kGood);
  const auto clean = nlohmann::json::parse(ripeline("check good.csv --format sarif").out);
  EXPECT_TRUE(clean.at("runs").at(0).at("results").empty());
}

TEST_F(ScheduleFiles, have_certificates_that_are_accepted) {
  for (const char* schedule : {kGood, kMixed}) {
    write("good.csv", schedule);
    ASSERT_EQ(ripeline("verify good.csv --certificate evidence").exit_code, 0);
    const Outcome again = ripeline("recheck evidence");
    EXPECT_EQ(again.exit_code, 0) << again.out;
  }
}

}  // namespace
}  // namespace ripeline::cli::schedule_files_test
