#include "runtime/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;

// Clears a rank's variables, and restores them when destroyed.
class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest() {
    for (const char* name : {"RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "TORCHELASTIC_RUN_ID",
                             "TORCHELASTIC_RESTART_COUNT",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMIX_NAMESPACE",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "PMI_JOBID",
                             "MPI_LOCALRANKID",
                             "MPI_LOCALNRANKS",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_LOCALID",
                             "SLURM_NODEID",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_STEP_NODELIST",
                             "SLURM_JOB_NODELIST",
                             "TORCHELASTIC_USE_AGENT_STORE",
                             "RIPELINE_ADDRESS",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "SLURM_RESTART_COUNT",
                             "RIPELINE_FOLDER"}) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      unsetenv(name);
      names_.push_back(name);
    }
  }
  ~EnvironmentTest() override {
    for (const char* name : names_) unsetenv(name);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  static void set(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  void expect_refused(const std::string& message) {
    RankEnvironment environment;
    const Status status = read_rank_environment(environment);
    EXPECT_EQ(status.code(), StatusCode::invalid);
    EXPECT_THAT(status.message(), HasSubstr(message));
  }

 private:
  std::vector<const char*> names_;
  std::map<std::string, std::string> before_;
};

using Variables = std::map<std::string, std::string>;

// The variables that a starter sets for rank 2 of 4, and those whose values differ in another run.
struct Starter {
  const char* name;
  Variables variables;
  Variables other_run;
};
const Starter kStarters[] = {
    {"torchrun",
     {{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "4"}},
     {{"MASTER_PORT", "29501"}}},
    {"open_mpi",
     {{"OMPI_COMM_WORLD_RANK", "2"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}},
     {{"PMIX_NAMESPACE", "prterun-host-77@1"}}},
    {"mpich",
     {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "4"}},
     {{"PMI_JOBID", "7.1"}}},
    {"slurm",
     {{"SLURM_PROCID", "2"},
      {"SLURM_NTASKS", "4"},
      {"SLURM_LOCALID", "2"},
      {"SLURM_NODEID", "0"},
      {"SLURM_STEP_TASKS_PER_NODE", "4"},
      {"SLURM_JOB_ID", "11"},
      {"SLURM_STEP_ID", "0"}},
     {{"SLURM_STEP_ID", "1"}}},
};

class StarterTest : public EnvironmentTest, public testing::WithParamInterface<Starter> {};
INSTANTIATE_TEST_SUITE_P(each, StarterTest, testing::ValuesIn(kStarters),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(StarterTest, says_who_the_rank_is) {
  EXPECT_FALSE(is_rank());
  set(GetParam().variables);
  EXPECT_TRUE(is_rank());
  RankEnvironment e;
  const Status status = read_rank_environment(e);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(e.rank, 2);
  EXPECT_EQ(e.ranks, 4);
  EXPECT_EQ(e.local_rank, 2);
  EXPECT_EQ(e.local_ranks, 4);
  EXPECT_GE(e.default_threads(), 1);
}

TEST_P(StarterTest, gives_the_ranks_of_a_run_one_folder_and_each_run_its_own) {
  set(GetParam().variables);
  RankEnvironment first;
  ASSERT_TRUE(read_rank_environment(first).ok());
  for (const auto& [name, value] : GetParam().variables) {
    if (value == "2") set({{name, "3"}});
  }
  RankEnvironment second;
  ASSERT_TRUE(read_rank_environment(second).ok());
  EXPECT_EQ(second.rank, 3);
  EXPECT_EQ(first.folder, second.folder);
  set(GetParam().other_run);
  RankEnvironment other;
  ASSERT_TRUE(read_rank_environment(other).ok());
  EXPECT_NE(other.folder, first.folder);
  set({{"RIPELINE_FOLDER", "/tmp/run"}});
  ASSERT_TRUE(read_rank_environment(other).ok());
  EXPECT_EQ(other.folder, "/tmp/run");
}

// Two runs have the same variables, but different processes start their ranks.
TEST_P(StarterTest, tells_runs_apart_that_another_process_started) {
  set(GetParam().variables);
  RankEnvironment mine;
  ASSERT_TRUE(read_rank_environment(mine).ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    RankEnvironment theirs;
    const bool is_read = read_rank_environment(theirs).ok();
    const ssize_t n = write(ends[1], theirs.folder.data(), theirs.folder.size());
    _exit(is_read && n > 0 ? 0 : 1);
  }
  close(ends[1]);
  std::string theirs(200, '\0');
  const ssize_t n = read(ends[0], theirs.data(), theirs.size());
  close(ends[0]);
  waitpid(child, nullptr, 0);
  theirs.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  EXPECT_THAT(theirs, testing::StartsWith("/tmp/ripeline-"));
  EXPECT_NE(theirs, mine.folder);
}

TEST_F(EnvironmentTest, of_the_inner_one_counts) {
  set(kStarters[3].variables);
  set({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}});
  RankEnvironment e;
  ASSERT_TRUE(read_rank_environment(e).ok());
  EXPECT_EQ(e.ranks, 2);
  EXPECT_EQ(e.rank, 0);
}

TEST_F(EnvironmentTest, of_slurm_counts_the_ranks_of_this_host) {
  set(kStarters[3].variables);
  set({{"SLURM_STEP_TASKS_PER_NODE", "2(x1),2"}, {"SLURM_NODEID", "1"}});
  expect_refused(
      "2 of the 4 ranks (SLURM_NTASKS) are on this host (SLURM_STEP_TASKS_PER_NODE), and "
      "MASTER_ADDR is not set");
  for (const char* text : {"2(x", "x", "0", "9", "4,", "1", "(x2)", "4(y1)"}) {
    set({{"SLURM_STEP_TASKS_PER_NODE", text}, {"SLURM_NODEID", "3"}});
    expect_refused("expected how many ranks each host has, as 4 or 2(x3),1");
  }
}

TEST_F(EnvironmentTest, names_what_is_missing_or_wrong) {
  expect_refused("none of RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID is set");
  set({{"RANK", "2"}});
  expect_refused("WORLD_SIZE is not set");
  set({{"WORLD_SIZE", "2"}});
  expect_refused("RANK='2': expected a number from 0 to 1");
  set({{"RANK", "1x"}});
  expect_refused("RANK='1x'");
}

// The ranks are on two hosts, and the variables tell where they meet.
TEST_P(StarterTest, says_where_the_ranks_of_several_hosts_meet) {
  set(GetParam().variables);
  for (const auto& [name, value] : GetParam().variables) {
    if (name.find("LOCAL") == std::string::npos && name.find("TASKS_PER") == std::string::npos) {
      continue;
    }
    set({{name, value == "4" ? "2" : "0"}});
  }
  if (std::string(GetParam().name) == "slurm") {
    set({{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}, {"SLURM_NODEID", "1"}});
  }
  expect_refused("2 of the 4 ranks");
  expect_refused("MASTER_ADDR");
  set({{"MASTER_ADDR", "node-7"}});
  if (std::string(GetParam().name) != "slurm") expect_refused("MASTER_PORT is not set");
  set({{"MASTER_PORT", "29500"}});
  RankEnvironment e;
  const Status status = read_rank_environment(e);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(e.local_ranks, 2);
  EXPECT_EQ(e.folder, "");
  EXPECT_EQ(e.store.host, "node-7");
  EXPECT_EQ(e.store.port, 29500);
  EXPECT_FALSE(e.store.is_of_agent);
  EXPECT_EQ(e.address, "");
  for (const char* address : {"10.0.0.7", "fd00::7"}) {
    set({{"RIPELINE_ADDRESS", address}});
    ASSERT_TRUE(read_rank_environment(e).ok());
    EXPECT_EQ(e.address, address);
  }
  set({{"RIPELINE_ADDRESS", "node-7"}});
  expect_refused("RIPELINE_ADDRESS='node-7': expected an address of this host in numbers");
  set({{"MASTER_PORT", "70000"}});
  expect_refused("MASTER_PORT='70000': expected a number from 1 to 65535");
}

TEST_F(EnvironmentTest, of_torchrun_names_the_store_of_its_agent) {
  set({{"RANK", "3"},
       {"WORLD_SIZE", "4"},
       {"LOCAL_RANK", "1"},
       {"LOCAL_WORLD_SIZE", "2"},
       {"MASTER_ADDR", "node-7"},
       {"MASTER_PORT", "29500"},
       {"TORCHELASTIC_RESTART_COUNT", "2"},
       {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  RankEnvironment e;
  ASSERT_TRUE(read_rank_environment(e).ok());
  EXPECT_TRUE(e.store.is_of_agent);
  EXPECT_EQ(e.store.attempt, "2");
  set({{"TORCHELASTIC_USE_AGENT_STORE", "False"}});
  ASSERT_TRUE(read_rank_environment(e).ok());
  EXPECT_FALSE(e.store.is_of_agent);
}

TEST_F(EnvironmentTest, of_slurm_leads_to_the_first_host_and_a_port_of_the_step) {
  set({{"SLURM_PROCID", "3"},
       {"SLURM_NTASKS", "4"},
       {"SLURM_LOCALID", "1"},
       {"SLURM_NODEID", "1"},
       {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
       {"SLURM_JOB_NODELIST", "other[1-2]"},
       {"SLURM_JOB_ID", "1001"},
       {"SLURM_STEP_ID", "3"}});
  RankEnvironment e;
  ASSERT_TRUE(read_rank_environment(e).ok());
  EXPECT_EQ(e.store.host, "other1");
  EXPECT_EQ(e.store.port, 20'000 + (16 * 1001 + 3) % 9'000);
  set({{"SLURM_STEP_NODELIST", "node[03-05,07],other-1"}, {"SLURM_STEP_ID", "4"}});
  ASSERT_TRUE(read_rank_environment(e).ok());
  EXPECT_EQ(e.store.host, "node03");
  EXPECT_EQ(e.store.port, 20'000 + (16 * 1001 + 4) % 9'000);
  set({{"MASTER_ADDR", "node-7"}, {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(read_rank_environment(e).ok());
  EXPECT_EQ(e.store.host, "node-7");
  EXPECT_EQ(e.store.port, 29500);
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
  set({{"SLURM_JOB_ID", "x"}});
  expect_refused("SLURM_JOB_ID='x': expected a number, from which the port of the store follows");
  set({{"SLURM_STEP_NODELIST", "node["}});
  expect_refused("the list of hosts 'node[' cannot be read");
}

}  // namespace
}  // namespace ripeline::runtime
