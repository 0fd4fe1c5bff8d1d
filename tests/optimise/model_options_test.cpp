#include "optimise/model_options.h"

#include <gtest/gtest.h>

namespace ripeline::optimise {
namespace {

using pytorch::Placement;

std::vector<std::string> names_of(const ModelOptions& options) {
  const auto forms = forms_of(options);
  if (!forms.ok()) return {forms.errors().front().message};
  std::vector<std::string> names;
  for (const Form& form : forms.value().forms) names.push_back(form.name);
  return names;
}

TEST(ModelOptions, name_placements_of_which_loops_have_several_sizes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of({}), Names{"chain"});
  EXPECT_EQ(names_of({.placements = {Placement::loop}}), Names{"loop of 2"});
  EXPECT_EQ(names_of({.placements = {Placement::loop}, .chunks = 3}), Names{"loop of 3"});
  EXPECT_EQ(names_of({.placements = {Placement::chain, Placement::loop, Placement::v}}),
            (Names{"chain", "loop of 2", "loop of 3", "loop of 4", "v"}));
  EXPECT_EQ(names_of({.placements = {Placement::v}, .chunks = 3}),
            Names{"--chunks: only --placement loop has a number of stages to choose"});
}

TEST(ModelOptions, have_usual_values) {
  const auto forms = forms_of(ModelOptions{});
  ASSERT_TRUE(forms.ok());
  const Problem& problem = *forms.value().forms.front().problem;
  EXPECT_EQ(problem.program().ranks, 4);
  EXPECT_EQ(problem.microbatches(), 8);
  EXPECT_EQ(forms.value().model, "costs 1,1,1,0");
  EXPECT_EQ(forms.value().times.latency, 0);
}

}  // namespace
}  // namespace ripeline::optimise
