// Tests the program `ripeline` as a user meets it: exit codes, which output goes where, and the
// JSON fields on which other programs rely.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace {

namespace fs = std::filesystem;

using Cli = CliTest;

constexpr const char* kSticks = R"(pipeline waits_for_itself {
  param ranks = 2;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward { needs F at prev; acquires activation; }
  op B backward { needs F at here, B at next; releases activation; }
  resource activation per stage { capacity ranks; }
  order backward_first on r { (B F) * microbatches; }
  dispatch in order backward_first;
}
)";

constexpr const char* kUnknown = R"(pipeline waits {
  param ranks = 2;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward { needs F at prev; acquires activation; }
  op B backward { needs F at here, B at next; releases activation; }
  resource activation per stage { capacity ranks; }
  pair F, B;
  tensor_parallel 2 { agree by intersection; }
  dispatch ready;
}
)";

TEST_F(Cli, help_teaches_and_succeeds) {
  const Outcome help = ripeline("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"verify", "generate", "library", "format", "launch", "Exit codes"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
  for (const char* command :
       {"verify", "recheck", "check-run", "profile", "generate", "library", "format", "launch"}) {
    EXPECT_EQ(ripeline(std::string(command) + " --help").exit_code, 0) << command;
  }
}

TEST_F(Cli, usage_errors_exit_2) {
  for (const char* arguments : {"",
                                "frobnicate",
                                "verify",
                                "verify bf --no-such-option",
                                "verify bf -D ranks",
                                "verify bf -D ranks=x",
                                "verify bf -D ranks=2 -D ranks=3",
                                "verify no_such_file.ripe",
                                "verify .",
                                "generate bf -o x.h",
                                "generate bf --name 2x -o x.h",
                                "verify bf -D nobody=3",
                                "library nobody",
                                "launch -n 2",
                                "verify bf --dispatch 'ready by nobody'",
                                "verify bf --format yaml",
                                "verify bf 1f1b --certificate x",
                                "recheck",
                                "recheck nowhere",
                                "recheck .",
                                "verify bf -D ranks=any -D ranks=3",
                                "verify bf -D ranks=any --layouts",
                                "verify bf -D window=any",
                                "generate bf -D ranks=any --name x -o x.h"}) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << '\n' << outcome.out;
    EXPECT_FALSE(outcome.out.empty()) << arguments;
  }
}

TEST_F(Cli, version_is_machine_readable) {
  EXPECT_EQ(ripeline("--version").out.rfind("ripeline ", 0), 0u);
  const auto json = nlohmann::json::parse(ripeline("--version --format json").out);
  EXPECT_EQ(json.at("schema"), "ripeline.version/1");
  EXPECT_TRUE(json.at("version").is_string());
}

TEST_F(Cli, verify_exits_by_verdict_and_takes_the_worst_of_several) {
  write("sticks.ripe", kSticks);
  write("unknown.ripe", kUnknown);
  write("broken.ripe", "pipeline {");
  EXPECT_EQ(ripeline("verify bf").exit_code, 0);
  EXPECT_EQ(ripeline("verify sticks.ripe").exit_code, 1);
  EXPECT_EQ(ripeline("verify unknown.ripe").exit_code, 3);
  EXPECT_EQ(ripeline("verify broken.ripe").exit_code, 2);
  EXPECT_EQ(ripeline("verify bf unknown.ripe").exit_code, 3);
  EXPECT_EQ(ripeline("verify unknown.ripe sticks.ripe bf").exit_code, 1);
  EXPECT_EQ(ripeline("verify sticks.ripe broken.ripe").exit_code, 2);
  EXPECT_EQ(ripeline("verify - < sticks.ripe").exit_code, 1);
}

TEST_F(Cli, verify_takes_any_number_of_ranks) {
  const Outcome outcome = ripeline("verify bf bfw_v -D ranks=any --format json", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 0);
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report.at("programs").size(), 2u);
  for (const auto& json : report.at("programs")) {
    EXPECT_EQ(json.at("verdict"), "proved");
    EXPECT_EQ(json.at("params").at("ranks"), "any");
    EXPECT_EQ(json.at("least_ranks"), 1);
    EXPECT_EQ(json.at("obligations").size(), 5u);
  }
  write("sticks.ripe", kSticks);
  const Outcome sticks = ripeline("verify sticks.ripe -D ranks=any");
  EXPECT_NE(sticks.exit_code, 0) << sticks.out;
  EXPECT_NE(sticks.exit_code, 1) << sticks.out;
}

TEST_F(Cli, unknown_names_the_construct) {
  write("unknown.ripe", kUnknown);
  const Outcome outcome = ripeline("verify unknown.ripe");
  EXPECT_NE(outcome.out.find("`pair with tensor_parallel` is not supported"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("proved: deadlock"), std::string::npos) << outcome.out;
}

TEST_F(Cli, json_has_the_fields_that_others_rely_on) {
  const Outcome outcome = ripeline("verify bf -D ranks=3 --format json", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 0);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("verdict"), "proved");
  EXPECT_EQ(json.at("params").at("ranks"), 3);
  EXPECT_EQ(json.at("hash").get<std::string>().size(), 16u);
  for (const char* field : {"schema", "program", "microbatches", "assumptions", "solver"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  std::vector<std::string> names;
  for (const auto& obligation : json.at("obligations")) {
    names.push_back(obligation.at("name"));
    EXPECT_EQ(obligation.at("verdict"), "proved");
    EXPECT_TRUE(obligation.at("seconds").is_number());
    EXPECT_TRUE(obligation.at("method").is_string());
    if (names.back() == "memory") {
      EXPECT_EQ(obligation.at("pool_peak").at("activation"), nlohmann::json({3, 2, 1}));
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"deadlock", "collectives", "messages", "memory", "once"}));
}

TEST_F(Cli, a_refutation_in_json_has_a_run_and_who_waits) {
  write("sticks.ripe", kSticks);
  const Outcome outcome = ripeline("verify sticks.ripe --format json", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 1);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("verdict"), "refuted");
  const auto& deadlock = json.at("obligations").at(0);
  EXPECT_EQ(deadlock.at("counterexample").at("microbatches"), 1);
  EXPECT_TRUE(deadlock.at("counterexample").at("events").is_array());
  EXPECT_FALSE(deadlock.at("counterexample").at("waits").empty());
}

TEST_F(Cli, bad_input_in_json_is_an_object_with_places) {
  write("broken.ripe", "pipeline x {\n  stages ;\n}\n");
  const Outcome outcome = ripeline("verify broken.ripe --format json", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 2);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("errors").at(0).at("line"), 2);
}

TEST_F(Cli, generate_writes_a_file_only_for_what_is_proved) {
  write("sticks.ripe", kSticks);
  write("unknown.ripe", kUnknown);
  EXPECT_EQ(ripeline("generate sticks.ripe --name x -o x.h").exit_code, 1);
  EXPECT_EQ(ripeline("generate unknown.ripe --name x -o x.h").exit_code, 3);
  EXPECT_EQ(ripeline("generate nothing.ripe --name x -o x.h").exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "x.h"));
  EXPECT_EQ(ripeline("generate bf --name x -o x.h").exit_code, 0);
  EXPECT_NE(read("x.h").find("namespace x"), std::string::npos);
  EXPECT_EQ(ripeline("generate bf --name x -o missing/x.h").exit_code, 2);
  EXPECT_EQ(ripeline("generate bf --name x -o -", "2>/dev/null").out.rfind("//", 0), 0u);
}

TEST_F(Cli, generate_leaves_a_device_or_a_pipe_what_it_is) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // the whole file fits into the pipe
  ASSERT_GE(reader, 0);
  EXPECT_EQ(ripeline("generate bf --name x -o pipe").exit_code, 0);
  std::array<char, 2> start{};
  EXPECT_EQ(::read(reader, start.data(), start.size()), 2);
  EXPECT_EQ(start[0], '/');
  close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Cli, generate_refuses_a_namespace_that_cannot_be) {
  for (const char* name : {"class", "core", "ops", "Arbiter", "NULL", "2x", "a-b"}) {
    EXPECT_EQ(ripeline(std::string("generate bf -o x.h --name ") + name).exit_code, 2) << name;
  }
}

TEST_F(Cli, generate_keeps_odd_names_inside_its_comments) {
  EXPECT_EQ(ripeline("generate bf --name x -o x.h --dispatch 'ready by\n bf'").exit_code, 0);
  EXPECT_NE(read("x.h").find("ready by  bf"), std::string::npos);
}

TEST_F(Cli, json_is_written_of_a_file_whose_name_is_no_text) {
  write("\xff.ripe", kSticks);
  const Outcome outcome = ripeline("verify --format json '\xff.ripe'", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(nlohmann::json::accept(outcome.out));
}

TEST_F(Cli, generate_unproved_says_so_in_the_file) {
  write("sticks.ripe", kSticks);
  const Outcome outcome = ripeline("generate sticks.ripe --name x -o x.h --unproved");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("nothing was proved"), std::string::npos);
  EXPECT_NE(read("x.h").find("NOT PROVED"), std::string::npos);
}

TEST_F(Cli, a_certificate_of_each_verdict_is_written_and_rechecked) {
  write("sticks.ripe", kSticks);
  write("unknown.ripe", kUnknown);
  EXPECT_EQ(ripeline("verify bf -D ranks=2 --certificate c").exit_code, 0);
  const Outcome accepted = ripeline("recheck c");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.out;
  EXPECT_NE(accepted.out.find("c: accepted, bf is proved (cvc5"), std::string::npos);
  EXPECT_EQ(ripeline("verify sticks.ripe --certificate c").exit_code, 1);  // replaces the other one
  const Outcome refuted = ripeline("recheck c --format json", "2>/dev/null");
  EXPECT_EQ(refuted.exit_code, 0) << refuted.out;
  const auto json = nlohmann::json::parse(refuted.out);
  EXPECT_EQ(json.at("schema"), "ripeline.recheck/2");
  EXPECT_EQ(json.at("result"), "accepted");
  EXPECT_EQ(json.at("verdict"), "refuted");
  EXPECT_EQ(json.at("steps").at(0).at("name"), "manifest");
  EXPECT_EQ(ripeline("verify unknown.ripe --certificate c").exit_code, 3);
  EXPECT_EQ(ripeline("recheck c").exit_code, 3);
}

constexpr const char* kFromFile = R"(pipeline from_file {
  microbatches 2;
  stages 2;
  place s on s;
  op F forward { needs F at prev; }
  op B backward { needs F at here, B at next; }
  order listed from csv "listed.csv";
  dispatch in order listed;
}
)";

TEST_F(Cli, a_certificate_has_the_file_that_an_order_is_read_from) {
  fs::create_directory(folder_ / "inside");
  write("inside/p.ripe", kFromFile);
  write("inside/listed.csv", "0F1,0F0,,0B1,0B0\n1F1,1B1,1F0,1B0\n");
  EXPECT_EQ(ripeline("verify inside/p.ripe --certificate c").exit_code, 0);
  fs::remove_all(folder_ / "inside");
  const Outcome accepted = ripeline("recheck c");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.out;
  write("c/order.csv", "0F0,0F1,,0B1,0B0\n1F1,1B1,1F0,1B0\n");
  const Outcome changed = ripeline("recheck c");
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_NE(changed.out.find("rejected   order.csv: its hash"), std::string::npos) << changed.out;
}

TEST_F(Cli, a_certificate_of_every_number_of_ranks_is_rechecked) {
  EXPECT_EQ(ripeline("verify bf -D ranks=any --certificate c").exit_code, 0);
  const Outcome accepted = ripeline("recheck c");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.out;
  EXPECT_NE(accepted.out.find("bf is proved for every number of ranks from 1 on (cvc5"),
            std::string::npos)
      << accepted.out;
  const auto json = nlohmann::json::parse(ripeline("recheck c --format json", "2>/dev/null").out);
  EXPECT_EQ(json.at("least_ranks"), 1);
}

TEST_F(Cli, recheck_says_which_file_is_wrong) {
  ASSERT_EQ(ripeline("verify bf -D ranks=2 --certificate c").exit_code, 0);
  write("c/invariant.txt", "0 <= 0\n");
  const Outcome changed = ripeline("recheck c");
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_NE(changed.out.find("rejected   invariant.txt: its hash"), std::string::npos);
  fs::remove(folder_ / "c" / "invariant.txt");
  fs::create_symlink("/dev/null", folder_ / "c" / "invariant.txt");
  EXPECT_EQ(ripeline("recheck c").exit_code, 2);
}

TEST_F(Cli, recheck_without_a_solver_or_an_answer_never_accepts) {
  ASSERT_EQ(ripeline("verify bf -D ranks=2 --certificate c").exit_code, 0);
  const Outcome missing = ripeline("recheck c --solver no_such_solver");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.out.find("apt-get install cvc5"), std::string::npos) << missing.out;
  EXPECT_EQ(ripeline("recheck c --solver true").exit_code, 3);  // prints nothing
  EXPECT_EQ(ripeline("recheck c --solver echo").exit_code, 3);  // prints the file's name
  write("slow", "#!/bin/sh\n[ \"$1\" = --version ] || exec sleep 60\n");
  fs::permissions(folder_ / "slow", fs::perms::owner_all);
  const Outcome slow = ripeline("recheck c --solver ./slow --time-limit 1");
  EXPECT_EQ(slow.exit_code, 3) << slow.out;
  EXPECT_NE(slow.out.find("not within 1 s"), std::string::npos) << slow.out;
  write("liar", "#!/bin/sh\necho sat\n");
  fs::permissions(folder_ / "liar", fs::perms::owner_all);
  EXPECT_EQ(ripeline("recheck c --solver ./liar").exit_code, 1);
}

TEST_F(Cli, a_certificate_is_not_written_over_other_files) {
  fs::create_directory(folder_ / "c");
  write("c/thesis.txt", "years of work");
  const Outcome outcome = ripeline("verify bf -D ranks=2 --certificate c");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.out.find("thesis.txt"), std::string::npos) << outcome.out;
  EXPECT_EQ(read("c/thesis.txt"), "years of work");
}

TEST_F(Cli, format_checks_and_rewrites) {
  write("a.ripe", "pipeline a { # why\nparam ranks=2; microbatches any;\nstages ranks; }");
  EXPECT_EQ(ripeline("format --check a.ripe").exit_code, 1);
  EXPECT_EQ(ripeline("format --write a.ripe").exit_code, 0);
  EXPECT_EQ(ripeline("format --check a.ripe").exit_code, 0);
  EXPECT_NE(read("a.ripe").find("# why"), std::string::npos);
  EXPECT_EQ(ripeline("format a.ripe", "2>/dev/null").out, read("a.ripe"));
  write("bad.ripe", "pipeline");
  EXPECT_EQ(ripeline("format --write bad.ripe").exit_code, 2);
  EXPECT_EQ(read("bad.ripe"), "pipeline");
}

TEST_F(Cli, every_library_schedule_is_listed_printed_in_canonical_layout_and_proved) {
  std::istringstream lines(ripeline("library").out);
  int count = 0;
  for (std::string name, rest; lines >> name && std::getline(lines, rest); ++count) {
    if (name == "zb") continue;  // writes an order
    const Outcome text = ripeline("library " + name, "2>/dev/null");
    write(name + ".ripe", text.out);
    EXPECT_EQ(ripeline("format --check " + name + ".ripe").exit_code, 0) << name;
    const Outcome verdict = ripeline("verify " + name + " -D ranks=3");
    EXPECT_EQ(verdict.exit_code, 0) << verdict.out;
  }
  EXPECT_GE(count, 8);
}

TEST_F(Cli, verifies_and_generates_an_order_from_a_file_beside_the_program) {
  fs::create_directory(folder_ / "inside");
  write("inside/p.ripe", kFromFile);
  write("inside/listed.csv", "0F1,0F0,,0B1,0B0\n1F1,1B1,1F0,1B0\n");
  const Outcome proved = ripeline("verify inside/p.ripe");
  EXPECT_EQ(proved.exit_code, 0) << proved.out;
  const Outcome generated = ripeline("generate inside/p.ripe --name p -o p.h");
  EXPECT_EQ(generated.exit_code, 0) << generated.out;
  EXPECT_NE(read("p.h").find("{0, 1}, {0, 0}, {1, 1}, {1, 0}"), std::string::npos) << read("p.h");

  // Rank 0 waits for the backward of a microbatch whose forward comes later on rank 1.
  write("inside/listed.csv", "0F1,0B1,0F0,0B0\n1F0,1F1,1B1,1B0\n");
  const Outcome stuck = ripeline("verify inside/p.ripe");
  EXPECT_EQ(stuck.exit_code, 1) << stuck.out;
  EXPECT_NE(stuck.out.find("refuted: deadlock"), std::string::npos) << stuck.out;

  write("inside/listed.csv", "0F1,0F1,0B1,0B0\n1F1,1B1,1F0,1B0\n");
  const Outcome twice = ripeline("verify inside/p.ripe");
  EXPECT_EQ(twice.exit_code, 1) << twice.out;
  EXPECT_NE(twice.out.find("0F0 is missing, with 2 microbatches."), std::string::npos) << twice.out;

  EXPECT_EQ(ripeline("verify inside/p.ripe -D microbatches=2").exit_code, 1);
  fs::remove(folder_ / "inside/listed.csv");
  const Outcome gone = ripeline("verify inside/p.ripe");
  EXPECT_EQ(gone.exit_code, 2) << gone.out;
  EXPECT_NE(gone.out.find("error[csv-unreadable]: 'listed.csv' cannot be read: No such file"),
            std::string::npos)
      << gone.out;
}

TEST_F(Cli, verify_judges_layouts_and_sends_of_a_fixed_order) {
  const Outcome text = ripeline("verify 1f1b -D ranks=3 --layouts --least sends");
  EXPECT_EQ(text.exit_code, 0) << text.out;
  EXPECT_NE(
      text.out.find("\n  apart    edge          safe            safe            deadlock at 2"),
      std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("1 credit for each channel, or 2 in all"), std::string::npos) << text.out;
  const Outcome json =
      ripeline("verify 1f1b -D ranks=3 --layouts --least sends --format json", "2>/dev/null");
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["layouts"]["rows"].size(), 18U);
  EXPECT_EQ(parsed["layouts"]["rows"][0]["verdict"], "deadlock");
  EXPECT_EQ(parsed["layouts"]["microbatches"]["max"], 7);
  EXPECT_EQ(parsed["layouts"]["microbatches"]["all"], false);
  EXPECT_EQ(parsed["least"]["sends"]["sum"], 2);
  const Outcome ready = ripeline("verify bf --layouts");
  EXPECT_EQ(ready.exit_code, 0);
  EXPECT_NE(ready.out.find("layouts: none. Sends and receives have a fixed order only with"),
            std::string::npos)
      << ready.out;
}

TEST_F(Cli, verify_says_what_would_repair_a_refuted_program) {
  write("p.ripe",
        "pipeline v {\n  param ranks = 3;\n  microbatches any;\n  stages 2 * ranks;\n"
        "  place s on s < ranks ? s : 2 * ranks - 1 - s;\n"
        "  op F forward { needs F at prev; acquires a; }\n"
        "  op B backward { needs F at here, B at next; releases a; }\n"
        "  resource a per rank { capacity 6; }\n  dispatch ready;\n}\n");
  const Outcome text = ripeline("verify p.ripe -D ranks=2");
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_NE(text.out.find("\nProved repair: `acquires a leaving chunks - 1 - chunk` in op F."),
            std::string::npos)
      << text.out;
  const auto parsed =
      nlohmann::json::parse(ripeline("verify p.ripe -D ranks=2 --format json", "2>/dev/null").out);
  const auto& repair = parsed["obligations"][0]["repairs"][0];
  EXPECT_EQ(repair["what"], "leaving");
  EXPECT_EQ(repair["line"], 6);
  EXPECT_EQ(repair["proved"], true);
  const Outcome without = ripeline("verify p.ripe -D ranks=2 --no-repairs");
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_EQ(without.out.find("repair"), std::string::npos) << without.out;
  // The offered repair makes the program safe.
  std::string changed = read("p.ripe");
  changed.replace(changed.find("acquires a;"), 11, "acquires a leaving chunks - 1 - chunk;");
  write("p.ripe", changed);
  EXPECT_EQ(ripeline("verify p.ripe -D ranks=2").exit_code, 0);
}

TEST_F(Cli, verify_finds_the_least_capacities) {
  const Outcome text = ripeline("verify 1f1b -D ranks=3 --least activation");
  EXPECT_EQ(text.exit_code, 0) << text.out;
  EXPECT_NE(text.out.find("\nleast activation: 3 for each (each less is refuted), or 6 in all (the "
                          "least sum)\n  activation of stage 0: 3\n"),
            std::string::npos)
      << text.out;
  const auto parsed = nlohmann::json::parse(
      ripeline("verify bf -D ranks=3 --least activation --format json", "2>/dev/null").out);
  const auto& least = parsed["least"]["activation"];
  EXPECT_EQ(least["uniform"], 1);
  EXPECT_EQ(least["sum"], 3);
  EXPECT_EQ(least["sum_is"], "least");
  EXPECT_EQ(least["each"][2]["of"], "activation of stage 2");
  const Outcome nobody = ripeline("verify bf --least nobody");
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_NE(nobody.out.find("--least nobody: bf has no resource or channel of that name; it has "
                            "activation\n"),
            std::string::npos)
      << nobody.out;
}

// A folder with three programs in two folders, and a file that is not a program.
class CliFolder : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    fs::create_directories(folder_ / "schedules" / "a b");
    write("schedules/sticks.ripe", kSticks);
    write("schedules/b.ripe", ripeline("library bf", "2>/dev/null").out);
    write("schedules/a b/unknown.ripe", kUnknown);
    write("schedules/notes.txt", "no program");
  }
};

TEST_F(CliFolder, is_every_program_below_it_in_the_order_of_paths) {
  const Outcome outcome = ripeline("verify schedules/", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  std::size_t last = 0;
  for (const char* head : {"schedules/a b/unknown.ripe: unknown", "schedules/b.ripe: proved",
                           "schedules/sticks.ripe: refuted"}) {
    const std::size_t at = outcome.out.find(head);
    ASSERT_NE(at, std::string::npos) << head << '\n' << outcome.out;
    EXPECT_GE(at, last);
    last = at;
  }
  const std::string summary = "\n3 programs: 1 proved, 1 refuted, 1 unknown\n";
  EXPECT_TRUE(outcome.out.ends_with(summary)) << outcome.out;
}

TEST_F(CliFolder, stands_beside_files_and_library_names) {
  write("broken.ripe", "pipeline {");
  const Outcome outcome = ripeline("verify 1f1b schedules broken.ripe", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(outcome.out.ends_with("\n5 programs: 2 proved, 1 refuted, 1 unknown, 1 bad input\n"))
      << outcome.out;
}

TEST_F(CliFolder, without_a_program_is_bad_input) {
  fs::create_directories(folder_ / "empty" / "too");
  const Outcome outcome = ripeline("verify empty");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.out.find(
                "empty: there is no .ripe file and no schedule of PyTorch (CSV) below this folder"),
            std::string::npos)
      << outcome.out;
}

TEST_F(CliFolder, gives_the_same_bytes_twice_without_times) {
  for (const char* format : {"text --no-times", "json --no-times", "sarif"}) {
    const std::string command = std::string("verify schedules --format ") + format;
    const Outcome first = ripeline(command, "2>/dev/null");
    EXPECT_EQ(first.out, ripeline(command, "2>/dev/null").out) << format;
    EXPECT_EQ(first.out.find("seconds"), std::string::npos) << format;
    EXPECT_EQ(first.out.find(" s\n"), std::string::npos) << format;
    EXPECT_EQ(first.exit_code, 1) << format;
  }
}

TEST_F(CliFolder, is_a_list_in_json_with_the_file_of_each) {
  const auto json =
      nlohmann::json::parse(ripeline("verify schedules --format json", "2>/dev/null").out);
  EXPECT_EQ(json.at("schema"), "ripeline.verify.list/2");
  std::vector<std::string> files;
  for (const auto& program : json.at("programs")) files.push_back(program.at("file"));
  EXPECT_EQ(files, (std::vector<std::string>{"schedules/a b/unknown.ripe", "schedules/b.ripe",
                                             "schedules/sticks.ripe"}));
}

// SARIF 2.1.0 requires that each result in a log has a position and the rule that it belongs to.
void expect_sarif(const nlohmann::json& log) {
  EXPECT_EQ(log.at("version"), "2.1.0");
  ASSERT_EQ(log.at("runs").size(), 1u);
  const auto& run = log.at("runs").at(0);
  const auto& rules = run.at("tool").at("driver").at("rules");
  EXPECT_EQ(run.at("tool").at("driver").at("name"), "ripeline");
  for (const auto& result : run.at("results")) {
    const std::size_t index = result.at("ruleIndex");
    ASSERT_LT(index, rules.size());
    EXPECT_EQ(rules.at(index).at("id"), result.at("ruleId"));
    EXPECT_FALSE(result.at("message").at("text").get<std::string>().empty());
    EXPECT_TRUE(result.at("level") == "error" || result.at("level") == "warning");
    ASSERT_EQ(result.at("locations").size(), 1u);
    const auto& location = result.at("locations").at(0);
    if (!location.contains("physicalLocation")) {
      EXPECT_TRUE(location.contains("logicalLocations"));
      continue;
    }
    const auto& place = location.at("physicalLocation");
    const std::string uri = place.at("artifactLocation").at("uri");
    EXPECT_EQ(uri.find(' '), std::string::npos) << uri;
    if (!place.contains("region")) continue;
    const auto& region = place.at("region");
    const int first = region.at("startLine");
    const int last = region.at("endLine");
    EXPECT_GE(first, 1);
    EXPECT_GE(last, first);
    EXPECT_GE(region.at("startColumn").get<int>(), 1);
    EXPECT_TRUE(last > first || region.at("endColumn") >= region.at("startColumn"));
  }
}

TEST_F(CliFolder, is_one_run_in_sarif) {
  write("schedules/broken.ripe", "pipeline x { # \xc3\xa4\n  stages ;\n}\n");
  const Outcome outcome = ripeline("verify schedules nosuch --format sarif", "2>/dev/null");
  EXPECT_EQ(outcome.exit_code, 2);
  const auto log = nlohmann::json::parse(outcome.out);
  expect_sarif(log);
  const auto& run = log.at("runs").at(0);
  std::vector<std::string> rules;
  for (const auto& rule : run.at("tool").at("driver").at("rules")) rules.push_back(rule.at("id"));
  rules.resize(5);
  EXPECT_EQ(rules,
            (std::vector<std::string>{"deadlock", "collectives", "messages", "memory", "once"}));
  std::map<std::string, std::set<std::string>> found;  // by level
  for (const auto& result : run.at("results")) {
    const auto& place = result.at("locations").at(0).at("physicalLocation");
    found[result.at("level")].insert(place.at("artifactLocation").at("uri"));
  }
  EXPECT_EQ(found["error"],
            (std::set<std::string>{"nosuch", "schedules/broken.ripe", "schedules/sticks.ripe"}));
  EXPECT_EQ(found["warning"], (std::set<std::string>{"schedules/a%20b/unknown.ripe"}));
  EXPECT_EQ(run.at("properties").at("programs").size(), 5u);
}

TEST_F(Cli, sarif_counts_characters_and_names_what_is_no_file) {
  const std::string text =
      "pipeline x {\n  op F user \"\xc3\xa4\xc3\xa4\" { needs G at prev; }\n"
      "  microbatches any; stages 2; place s on s; dispatch ready;\n}\n";
  write("umlauts.ripe", text);
  auto log =
      nlohmann::json::parse(ripeline("verify umlauts.ripe --format sarif", "2>/dev/null").out);
  expect_sarif(log);
  const auto& result = log.at("runs").at(0).at("results").at(0);
  EXPECT_EQ(result.at("ruleId"), "need-unknown-op");
  const auto& region = result.at("locations").at(0).at("physicalLocation").at("region");
  EXPECT_EQ(region.at("startLine"), 2);
  EXPECT_EQ(region.at("startColumn"), 26);  // 28 in bytes
  log =
      nlohmann::json::parse(ripeline("verify - --format sarif < umlauts.ripe", "2>/dev/null").out);
  expect_sarif(log);
  EXPECT_EQ(log["runs"][0]["results"][0]["locations"][0]["logicalLocations"][0]["name"], "stdin");
  log = nlohmann::json::parse(ripeline("verify bf --format sarif", "2>/dev/null").out);
  EXPECT_TRUE(log["runs"][0]["results"].empty());
}

TEST_F(Cli, errors_of_options_point_at_the_option) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"verify bf -D rnks=3", "bf: -D rnks=3: error[define-unknown-param]: no param is called"},
      {"verify bf -D microbatches=0", "bf: -D microbatches=0: error[define-microbatches]: 0 is "},
      {"verify bf -D ranks=x", "-D ranks=x: expected NAME=INTEGER"},
      {"verify bf --dispatch 'by x'", "bf: --dispatch \"by x\": error[dispatch-option]: "},
      {"verify bf --dispatch 'ready by x'", "bf: --dispatch \"ready by x\": error[dispatch-unk"},
  };
  for (const auto& [arguments, said] : cases) {
    const Outcome outcome = ripeline(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.out.find(said), std::string::npos) << arguments << '\n' << outcome.out;
    EXPECT_EQ(outcome.out.find(":1:1:"), std::string::npos) << outcome.out;
  }
  const auto json =
      nlohmann::json::parse(ripeline("verify bf -D rnks=3 --format json", "2>/dev/null").out);
  EXPECT_EQ(json.at("errors").at(0).at("option"), "-D rnks=3");
  EXPECT_FALSE(json.at("errors").at(0).contains("line"));
}

TEST_F(Cli, a_missing_file_is_looked_for_aloud) {
  write("chain.ripe", kSticks);
  const std::string out = ripeline("verify chian.ripe").out;
  const std::string looked = "there is no file " + (folder_ / "chian.ripe").string();
  EXPECT_NE(out.find(looked), std::string::npos) << out;
  EXPECT_NE(out.find("no library schedule of that name"), std::string::npos) << out;
  EXPECT_NE(out.find("Did you mean chain.ripe?"), std::string::npos) << out;
}

TEST_F(Cli, says_that_standard_output_is_full) {
  for (const char* arguments : {"--help", "verify --help", "--version", "library bf"}) {
    const Outcome outcome = ripeline(std::string(arguments) + " 2>&1", "> /dev/full");
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    const Outcome said = ripeline(arguments, "2>&1 >/dev/full");
    EXPECT_NE(said.out.find("cannot write to standard output"), std::string::npos) << arguments;
  }
}

// Runs each command that writes files, with a limit on file sizes of a kilobyte or two.
TEST_F(Cli, leaves_a_good_file_when_the_new_one_does_not_fit_on_the_disk) {
  write("long.ripe", "#  " + std::string(3000, 'x') + "\n\n\n  " + kSticks);
  const struct {
    std::string command;
    std::string file;
  } kCases[] = {
      {"format --write long.ripe", "long.ripe"},
      {"generate bf --name bf -o out", "out"},
      {"export 1f1b -D ranks=4 -m 64 -o out", "out"},
      {"simulate bf -m 64 --trace out", "out"},
      {"simulate bf -m 64 --csv out", "out"},
      {"simulate bf -m 64 --picture out.svg", "out.svg"},
      {"show bf -m 64 --picture out.html", "out.html"},
      {"verify bf -D ranks=2 --certificate c", "c"},
  };
  ASSERT_EQ(ripeline("verify 1f1b -D ranks=2 --certificate c").exit_code, 0);
  for (const auto& [command, file] : kCases) {
    if (!fs::exists(folder_ / file)) write(file, "good");
    const bool folder = fs::is_directory(folder_ / file);
    const std::string old = folder ? read(file + "/program.ripe") : read(file);
    const Outcome outcome = ripeline(
        "--version > /dev/null; trap '' XFSZ; ulimit -f 2; " RIPELINE_PROGRAM " " + command,
        "2>&1 > /dev/null");
    EXPECT_EQ(outcome.exit_code, 2) << command << outcome.out;
    EXPECT_NE(outcome.out.find(": cannot be written: File too large; the old " +
                               std::string(folder ? "certificate" : "file") + " is still there"),
              std::string::npos)
        << command << outcome.out;
    EXPECT_EQ(folder ? read(file + "/program.ripe") : read(file), old) << command;
    if (!folder) continue;
    EXPECT_FALSE(fs::exists(folder_ / file / ".ripeline-partial"));
    EXPECT_EQ(ripeline("recheck c").exit_code, 0);
  }
}

TEST_F(Cli, replaces_what_a_killed_run_left_of_a_certificate) {
  fs::create_directories(folder_ / "c" / ".ripeline-partial");
  write("c/.ripeline-partial/certificate.json", "half");
  EXPECT_EQ(ripeline("verify bf -D ranks=2 --certificate c").exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "c" / ".ripeline-partial"));
  fs::create_directory(folder_ / "c" / ".ripeline-partial");
  write("c/.ripeline-partial/program.ripe", "half");
  EXPECT_EQ(ripeline("recheck c").exit_code, 0);
}

}  // namespace
