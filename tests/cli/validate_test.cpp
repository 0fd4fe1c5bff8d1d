// Tests `ripeline validate` with a probe that does not do its part: the command ends, names the
// probe, and leaves no process behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/runtime/ranks.h"

namespace {

using testing::HasSubstr;

class ValidateProbe : public testing::Test {
 protected:
  // Writes a shell script that replaces the probe and first records its process id.
  void write_probe(const std::string& script) {
    std::ofstream(path("probe")) << "#!/bin/sh\necho $$ > '" << path("pid") << "'\n"
                                 << script << '\n';
    ASSERT_EQ(chmod(path("probe").c_str(), 0700), 0);
  }

  // Returns standard error. If the command does not end by itself, `timeout` ends it with 124.
  std::string validate(const std::string& options, int exit_code,
                       const std::string& redirect = "2>&1 > /dev/null") {
    const std::string command = "cd '" + folder_.path() +
                                "' && timeout 100 " RIPELINE_PROGRAM " validate 1f1b -D ranks=2 " +
                                options + " " + redirect;
    FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer;
    for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      text.append(buffer.data(), n);
    }
    const int status = pclose(pipe);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, exit_code) << text;
    return text;
  }

  void expect_probe_is_gone() {
    pid_t probe = 0;
    ASSERT_TRUE(std::ifstream(path("pid")) >> probe);
    EXPECT_EQ(kill(probe, 0), -1) << "it still runs, or nobody has asked how it ended";
    EXPECT_EQ(errno, ESRCH);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }

 private:
  ripeline::testing_support::TemporaryFolder folder_;
};

TEST_F(ValidateProbe, that_never_answers_is_killed_when_its_time_is_over) {
  write_probe("exec sleep 1000");
  EXPECT_EQ(validate("--probe ./probe --time-limit 1", 2),
            "ripeline: ./probe: did not end within 1 s and was killed; it had written nothing "
            "(--time-limit)\n");
  expect_probe_is_gone();
}

TEST_F(ValidateProbe, that_answers_and_never_ends_is_killed_when_its_time_is_over) {
  write_probe("echo answers; exec sleep 1000");
  EXPECT_EQ(validate("--probe ./probe --time-limit 1", 2),
            "ripeline: ./probe: did not end within 1 s and was killed; it had written 8 bytes "
            "(--time-limit)\n");
  expect_probe_is_gone();
}

// The command waits for the probe's end even if no more output can come.
TEST_F(ValidateProbe, that_closes_its_output_and_never_ends_is_killed_when_its_time_is_over) {
  write_probe("trap '' TERM; echo answers; exec sleep 1000 >&-");
  EXPECT_EQ(validate("--probe probe --time-limit 1", 2),
            "ripeline: probe: did not end within 1 s and was killed; it had written 8 bytes "
            "(--time-limit)\n");
  expect_probe_is_gone();
}

TEST_F(ValidateProbe, that_fails_is_named_with_how_it_ended) {
  write_probe("cat > script; echo 'no such lane' >&2; exit 3");
  EXPECT_EQ(validate("--probe ./probe", 2), "no such lane\nripeline: ./probe: ended with 3\n");
  std::ifstream script(path("script"));
  EXPECT_NE(script.peek(), std::ifstream::traits_type::eof()) << "the probe was asked nothing";
  write_probe("kill -SEGV $$");
  EXPECT_EQ(validate("--probe ./probe", 2), "ripeline: ./probe: was ended by signal 11\n");
  EXPECT_EQ(validate("--probe ./nowhere", 2),
            "ripeline: ./nowhere: cannot be run: No such file or directory\n");
}

// Output that exceeds a pipe's capacity in both directions must not block either side.
TEST_F(ValidateProbe, that_answers_much_and_wrongly_is_heard_to_its_end) {
  write_probe("head -c 3000000 /dev/zero | tr '\\0' x; cat > /dev/null");
  EXPECT_THAT(validate("--probe ./probe", 1), HasSubstr("what was generated is not this program"));
}

TEST_F(ValidateProbe, has_a_limit_that_help_tells) {
  EXPECT_THAT(validate("--help", 0, "2>&1"), HasSubstr("--time-limit"));
  EXPECT_THAT(validate("--probe ./probe --time-limit 0", 2), HasSubstr("--time-limit"));
}

}  // namespace
