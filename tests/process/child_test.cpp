#include "process/child.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace ripeline::process {
namespace {

using namespace std::chrono_literals;

ChildRun shell(const std::string& script, Child child = {.command = {}, .time = 60s}) {
  child.command = {"sh", "-c", script};
  return run_child(child);
}

TEST(Child, gets_its_input_and_is_read_to_its_end) {
  const std::string input(3'000'000, 'x');
  const Child child{.command = {"cat"}, .time = 60s, .input = input, .most_output = 4'000'000};
  const ChildRun run = run_child(child);
  EXPECT_TRUE(run.ended_well());
  EXPECT_EQ(run.output, input);
  const ChildRun empty = run_child({.command = {"cat"}, .time = 60s});
  EXPECT_TRUE(empty.ended_well()) << "without an input it reads the end";
  EXPECT_EQ(shell("echo lost >&2").errors, "lost\n");
}

TEST(Child, that_fails_is_said_how) {
  const Child child{.command = {"no-such-program"}, .time = 60s};
  const ChildRun none = run_child(child);
  EXPECT_EQ(none.not_started, ENOENT);
  EXPECT_EQ(how_it_ended(child, none), "cannot be run: No such file or directory");
  EXPECT_EQ(how_it_ended(child, shell("exit 3")), "ended with 3");
  EXPECT_EQ(how_it_ended(child, shell("kill -SEGV $$")), "was ended by signal 11");
}

TEST(Child, that_goes_on_is_ended) {
  const Child late{.command = {}, .time = 200ms};
  EXPECT_EQ(shell("exec sleep 1000", late).signal, SIGTERM);
  const ChildRun deaf = shell("trap '' TERM; echo on; exec sleep 1000", late);
  EXPECT_TRUE(deaf.was_killed);
  EXPECT_EQ(how_it_ended(late, deaf),
            "did not end within 0.2 s and was killed; it had written 3 bytes");
  const Child asked{.command = {}, .time = 60s, .go_on = [] { return false; }};
  EXPECT_TRUE(shell("exec sleep 1000", asked).was_stopped);
  const Child abandoned{.command = {},
                        .time = 60s,
                        .grace = 60s,
                        .go_on = [] { return false; },
                        .is_abandoned = true};
  const ChildRun left = shell("trap '' TERM; exec sleep 1000", abandoned);
  EXPECT_EQ(left.signal, SIGKILL);
  EXPECT_TRUE(left.was_stopped && left.was_killed);
  EXPECT_EQ(how_it_ended(abandoned, left),
            "did not end within 60 s and was killed; it had written nothing");
  const Child little{.command = {}, .time = 60s, .most_output = 10};
  const ChildRun much = shell("exec yes", little);
  EXPECT_TRUE(much.wrote_too_much);
  EXPECT_EQ(much.output.size(), 10U);
  EXPECT_FALSE(much.ended_well());
  // The limit applies even if the child ends by itself before it can be killed.
  const ChildRun once = shell("printf 12345678901", little);
  EXPECT_EQ(once.output, "1234567890");
  EXPECT_TRUE(once.wrote_too_much);
  EXPECT_FALSE(once.ended_well());
}

}  // namespace
}  // namespace ripeline::process
