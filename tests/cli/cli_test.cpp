// The program `ripeline` as a user meets it: exit codes, what goes where, and the JSON fields that
// other programs rely on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code;
  std::string out;
};

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ripeline-cli-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Runs `ripeline ARGUMENTS` in the test's folder; standard error is appended to `out` unless it
  // is dropped.
  Outcome ripeline(const std::string& arguments, const std::string& redirect = "2>&1") {
    const std::string command = "cd '" + folder_.string() +
                                "' && timeout 60 " RIPELINE_PROGRAM " " + arguments + " " +
                                redirect;
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    std::array<char, 4096> buffer;
    for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      out.append(buffer.data(), n);
    }
    const int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

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

constexpr const char* kUnknown = R"(pipeline over_fifo {
  param ranks = 2;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward { needs F at prev via fifo 2; acquires activation; }
  op B backward { needs F at here, B at next; releases activation; }
  resource activation per stage { capacity ranks; }
  dispatch ready;
}
)";

TEST_F(Cli, help_teaches_and_succeeds) {
  const Outcome help = ripeline("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"verify", "generate", "library", "format", "launch", "Exit codes"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
  for (const char* command : {"verify", "recheck", "generate", "library", "format", "launch"}) {
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
                                "recheck ."}) {
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

TEST_F(Cli, unknown_names_the_construct) {
  write("unknown.ripe", kUnknown);
  const Outcome outcome = ripeline("verify unknown.ripe");
  EXPECT_NE(outcome.out.find("fifo"), std::string::npos) << outcome.out;
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
      EXPECT_EQ(obligation.at("peak").at("activation"), nlohmann::json({3, 2, 1}));
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
  EXPECT_EQ(ripeline("verify sticks.ripe --certificate c").exit_code, 1);  // in its place
  const Outcome refuted = ripeline("recheck c --format json", "2>/dev/null");
  EXPECT_EQ(refuted.exit_code, 0) << refuted.out;
  const auto json = nlohmann::json::parse(refuted.out);
  EXPECT_EQ(json.at("schema"), "ripeline.recheck/1");
  EXPECT_EQ(json.at("result"), "accepted");
  EXPECT_EQ(json.at("verdict"), "refuted");
  EXPECT_EQ(json.at("steps").at(0).at("name"), "manifest");
  EXPECT_EQ(ripeline("verify unknown.ripe --certificate c").exit_code, 3);
  EXPECT_EQ(ripeline("recheck c").exit_code, 3);
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
  EXPECT_EQ(ripeline("recheck c --solver true").exit_code, 3);  // says nothing
  EXPECT_EQ(ripeline("recheck c --solver echo").exit_code, 3);  // says the file's name
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
    const Outcome text = ripeline("library " + name, "2>/dev/null");
    write(name + ".ripe", text.out);
    EXPECT_EQ(ripeline("format --check " + name + ".ripe").exit_code, 0) << name;
    const Outcome verdict = ripeline("verify " + name + " -D ranks=3");
    EXPECT_EQ(verdict.exit_code, 0) << verdict.out;
  }
  EXPECT_GE(count, 8);
}

}  // namespace
