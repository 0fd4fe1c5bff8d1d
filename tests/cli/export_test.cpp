// Tests `ripeline check` and `ripeline export` as a user meets them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace ripeline::cli::export_test {
namespace {

namespace fs = std::filesystem;

class CheckAndExport : public CliTest {
 protected:
  // Runs `ripeline ARGUMENTS`, keeps its output in out_, and returns its exit code.
  int ripeline(const std::string& arguments, const std::string& redirect = "2>&1") {
    const Outcome outcome = CliTest::ripeline(arguments, redirect);
    out_ = outcome.out;
    return outcome.exit_code;
  }
  bool says(const std::string& text) const { return out_.find(text) != std::string::npos; }

  std::string out_;
};

TEST_F(CheckAndExport, what_is_exported_passes_in_both_forms) {
  for (const char* schedule : {"1f1b", "gpipe", "eager_1f1b", "bf", "bfw", "bfw_v", "zb_h1",
                               "zb_h2", "zb_v", "v_half", "v_min", "interleaved_1f1b"}) {
    for (const char* form : {"compute_only", "compute_comms"}) {
      for (const char* sizes : {"-D ranks=1 -m 1", "-D ranks=3 -m 2", "-D ranks=4 -m 9"}) {
        const std::string what = std::string(schedule) + " " + sizes + " --form " + form;
        ASSERT_EQ(ripeline("export " + what + " -o x.csv"), 0) << what << out_;
        EXPECT_TRUE(says("_load_csv(\"x.csv\", format=\"" + std::string(form) + "\")")) << out_;
        EXPECT_EQ(ripeline("check x.csv --form " + std::string(form)), 0) << what << out_;
      }
    }
  }
}

TEST_F(CheckAndExport, export_writes_the_committed_order_and_names_the_companions) {
  EXPECT_EQ(ripeline("export 1f1b -D ranks=2 -m 3 -o x.csv"), 0);
  EXPECT_EQ(read("x.csv"), "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_TRUE(says("--parallelism.pipeline_parallel_schedule 1F1B "));
  EXPECT_TRUE(says("--parallelism.pipeline_parallel_schedule_csv x.csv"));
  EXPECT_TRUE(says("pp_schedule=1F1B pp_schedule_csv=x.csv"));
  EXPECT_EQ(ripeline("export bfw_v -D ranks=2 -m 3 -o x.csv"), 0);
  EXPECT_TRUE(says("ZBVZeroBubble"));
  EXPECT_TRUE(says("split backward"));
  EXPECT_EQ(ripeline("export 1f1b -D ranks=2 -m 1 -o -", "2>/dev/null"), 0);
  EXPECT_EQ(out_, "0F0,0B0\n1F0,1B0\n");
}

// A CSV with communication is exported in the requested form, too, and the notes name that form.
TEST_F(CheckAndExport, export_says_which_form_it_writes_whatever_it_reads) {
  ASSERT_EQ(ripeline("export 1f1b -D ranks=2 -m 2 --form compute_comms -o comms.csv"), 0);
  EXPECT_FALSE(says("computations alone")) << out_;
  EXPECT_EQ(read("comms.csv"),
            "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\n"
            "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD,1RESHARD\n");
  ASSERT_EQ(ripeline("export comms.csv -o only.csv"), 0);
  EXPECT_TRUE(says("note: comms.csv: its communication is left out")) << out_;
  EXPECT_TRUE(says("only.csv: compute_only, ")) << out_;
  EXPECT_TRUE(
      says("computations alone: PyTorch derives the communication; --form compute_comms "
           "writes both\n"))
      << out_;
  EXPECT_EQ(read("only.csv"), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST_F(CheckAndExport, export_refuses_what_pytorch_cannot_say) {
  struct Case {
    const char* lines;
    const char* says;
  };
  const std::string head = "pipeline p { param ranks = 2; microbatches 1 .. 4; stages ";
  const Case cases[] = {
      {"ranks; place s on s; op F forward { needs F at prev; } op B backward { needs F at here, B "
       "at "
       "next; } op R user \"r\" { needs B at here; } dispatch ready;",
       "export-op"},
      {"ranks; place s on s; op F forward { needs F at prev; } op G forward { needs F at here; } "
       "dispatch ready;",
       "export-op"},
      {"a 1, b 1; place s on s; op F forward { } op B backward { needs F at here; } dispatch "
       "ready;",
       "export-stages"},
      {"ranks; place s on s; inputs pyramid; op F forward { needs F at prev; } op B backward { "
       "needs "
       "F at here, B at next; } dispatch ready;",
       "export-inputs"},
      {"ranks; place s on ranks - 1 - s; op F forward { needs F at prev; } op B backward { needs F "
       "at here, B at next; } dispatch ready;",
       "export-placement"},
  };
  for (const Case& c : cases) {
    write("p.ripe", head + c.lines + " }");
    EXPECT_EQ(ripeline("export p.ripe -m 2 -o x.csv"), 2) << c.lines;
    EXPECT_TRUE(says(c.says)) << c.lines << out_;
    EXPECT_FALSE(fs::exists(folder_ / "x.csv"));
  }
  write("p.ripe",
        head + "ranks; place s on s; op F forward { needs F at prev; } dispatch ready; }");
  EXPECT_EQ(ripeline("export p.ripe -m 5 -o x.csv"), 2);
  EXPECT_TRUE(says("define-microbatches")) << out_;
  // The program has no backward, but PyTorch's schedules must train.
  EXPECT_EQ(ripeline("export p.ripe -m 2 -o x.csv"), 1);
  EXPECT_TRUE(says("missing")) << out_;
  EXPECT_FALSE(fs::exists(folder_ / "x.csv"));
}

TEST_F(CheckAndExport, json_has_the_fields_that_others_rely_on) {
  write("x.csv", "0F0,0B0x\n1F0,1B0\n");
  EXPECT_EQ(ripeline("check x.csv --format json --placement chain", "2>/dev/null"), 1);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json.at("schema"), "ripeline.check/2");
  EXPECT_EQ(json.at("file"), "x.csv");
  EXPECT_EQ(json.at("verdict"), "refuted");
  EXPECT_EQ(json.at("hash").get<std::string>().size(), 16U);
  EXPECT_EQ(json.at("placement"), "chain");
  EXPECT_EQ(json.at("communicator"), "group");
  const auto& cell = json.at("findings").at(0);
  EXPECT_EQ(cell.at("rule"), "cell");
  EXPECT_EQ(cell.at("row"), 1);
  EXPECT_EQ(cell.at("column"), 2);
  EXPECT_EQ(cell.at("task"), "0B0x");
  EXPECT_TRUE(cell.at("message").is_string());
  EXPECT_TRUE(json.at("findings").at(1).at("column").is_null());  // 0B0 is missing

  write("y.csv", "0F0,0B0\n1F0,1B0\n");
  EXPECT_EQ(ripeline("check y.csv --format json --layouts", "2>/dev/null"), 0);
  const auto right = nlohmann::json::parse(out_);
  EXPECT_EQ(right.at("peak").at("activation"), nlohmann::json({1, 1}));
  EXPECT_EQ(right.at("layouts").size(), 9U);
  EXPECT_NE(right.at("hash"), json.at("hash"));
}

TEST_F(CheckAndExport, fix_writes_what_passes_or_nothing) {
  write("x.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_EQ(ripeline("check x.csv --fix y.csv"), 0);
  EXPECT_TRUE(says("1F1 moved from position 2 to 3")) << out_;
  EXPECT_EQ(ripeline("check y.csv"), 0) << out_;
  write("w.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0\n");
  EXPECT_EQ(ripeline("check w.csv --fix z.csv"), 1);
  EXPECT_TRUE(says("no repair")) << out_;
  EXPECT_FALSE(fs::exists(folder_ / "z.csv"));
  EXPECT_EQ(ripeline("check y.csv --fix z.csv"), 0);
  EXPECT_TRUE(says("nothing to repair")) << out_;
  EXPECT_FALSE(fs::exists(folder_ / "z.csv"));
  EXPECT_EQ(ripeline("check x.csv --fix missing/z.csv"), 2);
}

TEST_F(CheckAndExport, usage_errors_exit_2) {
  write("x.csv", "0F0,0B0\n1F0,1B0\n");
  for (const char* arguments :
       {"check", "check nothing.csv", "check . --fix y.csv", "check x.csv --placement ring",
        "check x.csv --ranks 0", "check x.csv --stages 3", "check x.csv --memory 0",
        "check x.csv --layout ring", "check x.csv --format yaml", "export", "export bf -o x.csv",
        "export bf -m 4", "export bf -m 0 -o x.csv", "export nothing -m 4 -o x.csv",
        "export bf -m 4 -o missing/x.csv", "export bf -m 4 -o x.csv --form both"}) {
    EXPECT_EQ(ripeline(arguments), 2) << arguments << '\n' << out_;
    EXPECT_FALSE(out_.empty()) << arguments;
  }
  EXPECT_EQ(ripeline("check - < x.csv"), 0) << out_;
}

}  // namespace
}  // namespace ripeline::cli::export_test
