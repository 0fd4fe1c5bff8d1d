// Tests that the same thing has the same name in the JSON of all commands, so that a caller can
// read it without knowing which command wrote it.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace {

using nlohmann::json;

// Collects the names of all fields, at any depth.
void add_names(const json& value, std::set<std::string>& names) {
  for (const auto& [name, inner] : value.items()) {
    if (value.is_object()) names.insert(name);
    if (inner.is_structured()) add_names(inner, names);
  }
}

class Fields : public CliTest {
 protected:
  json object(const std::string& arguments) {
    const Outcome outcome = ripeline(arguments + " --format json", "2> /dev/null");
    EXPECT_EQ(outcome.exit_code, 0) << arguments;
    json object = json::parse(outcome.out);
    std::set<std::string> names;
    add_names(object, names);
    for (const char* other : {"makespan", "bubble", "bubble_rate", "peak_reached", "why"}) {
      EXPECT_FALSE(names.contains(other)) << arguments << ": " << other;
    }
    return object;
  }
};

TEST_F(Fields, a_step_has_the_same_times_in_every_command) {
  ASSERT_EQ(ripeline("optimise --ranks 3 -m 6 --memory 3 --solver none -o best.ripe").exit_code, 0);
  const json simulated = object("simulate best.ripe");
  const json compared = object("compare best.ripe")["runs"][0];
  const json optimised = object("optimise --ranks 3 -m 6 --memory 3 --solver none");
  const json point = object("optimise --ranks 3 -m 6 --memory 3..3 --solver none")["points"][0];
  const json emulated = object("emulate best.ripe");
  EXPECT_EQ(simulated["wall"], 20);
  for (const char* name : {"wall", "span", "work", "wall_bubble", "wall_bubble_rate", "span_bubble",
                           "span_bubble_rate"}) {
    EXPECT_EQ(compared[name], simulated[name]) << name;
    EXPECT_EQ(optimised[name], simulated[name]) << name;
    EXPECT_EQ(point[name], simulated[name]) << name;
    EXPECT_TRUE(emulated.contains(name)) << name;
  }
  EXPECT_EQ(emulated["emulated"]["simulated_wall"], simulated["wall"]);
  EXPECT_EQ(optimised["progress"].back()["value"], simulated["wall"]);
  EXPECT_EQ(compared["peak"], simulated["peak"]);
  EXPECT_EQ(optimised["peak"], simulated["peak"]);
}

TEST_F(Fields, what_was_judged_and_what_it_is_made_of_have_one_name) {
  ripeline("export 1f1b -D ranks=2 -m 3 -o two.csv");
  const json verified = object("verify two.csv");
  const json checked = object("check two.csv");
  EXPECT_EQ(verified["file"], "two.csv");
  EXPECT_EQ(checked["file"], "two.csv");
  const json simulated = object("simulate two.csv");
  EXPECT_EQ(checked["ranks"], simulated["ranks"]);
  EXPECT_EQ(checked["microbatches"], simulated["microbatches"]);
  EXPECT_EQ(checked["peak"], simulated["peak"]);
  EXPECT_EQ(checked["peak"]["activation"], (json{2, 1}));
}

}  // namespace
