#include "load/search.h"

#include <gtest/gtest.h>

namespace ripeline::load {
namespace {

SearchOptions model(const std::string& memory) {
  SearchOptions options;
  options.model.ranks = 2;
  options.model.memory = memory;
  return options;
}

std::string error_of(const spec::Diagnostics& errors) { return errors.front().message; }

// The command in the written program's comments, for a model or a program.
std::vector<std::string> comments_of(const SearchOptions& options) {
  auto forms = forms_of_model(options);
  EXPECT_TRUE(forms.ok());
  return order_options(options, forms.value(), false, {}).comments;
}

TEST(Search, has_the_command_of_a_model_in_its_comments) {
  SearchOptions options = model("2");
  options.microbatches = Counts{6, 6};
  options.model.costs = {"24ms", "23ms", "12ms", "1ms"};
  options.times.timing.seed = 3;
  EXPECT_EQ(comments_of(options),
            (std::vector<std::string>{
                "ripeline optimise --ranks 2 -m 6 --costs 24ms,23ms,12ms,1ms --memory 2 "
                "--placement chain --seed 3",
                "times as with  ripeline simulate FILE --latency 1 --unit ms"}));
}

TEST(Search, has_the_command_of_a_program_in_its_comments) {
  SearchOptions options;
  options.file = "1f1b";
  options.program.defines = {"ranks=2"};
  options.microbatches = Counts{4, 4};
  options.times.latency = "0.5";
  const auto loaded = read_program(options.file, of_step(options.program, options.microbatches));
  ASSERT_TRUE(loaded.ok());
  const auto forms = forms_of_program(loaded.value(), options);
  ASSERT_TRUE(forms.ok());
  const auto with = order_options(options, forms.value(), false, {});
  EXPECT_EQ(with.comments,
            (std::vector<std::string>{"ripeline optimise 1f1b -D ranks=2 -m 4 --latency 0.5",
                                      "times as with  ripeline simulate FILE --latency 0.5"}));
  EXPECT_EQ(with.solver_threads, options.threads);
  options.solver = false;
  EXPECT_EQ(order_options(options, forms.value(), false, {}).solver_threads, 0);
}

TEST(Search, races_only_where_times_vary) {
  SearchOptions options = model("2");
  const auto decided = [&] {
    const auto forms = forms_of_model(options);
    EXPECT_TRUE(forms.ok());
    Notes notes;
    return decide_race(options, forms.value(), notes);
  };
  EXPECT_FALSE(decided().value());
  options.seeds = 20;
  EXPECT_EQ(error_of(decided().errors()),
            "--seeds: times do not vary: expected --jitter, or a FILE and a profile with spreads");
  options.times.jitter = "uniform=0.1";
  EXPECT_TRUE(decided().value());
  EXPECT_EQ(race_options(options).seeds, 20);
  options.every_count = true;
  EXPECT_EQ(error_of(decided().errors()),
            "--every-count: an order that races is for its number of microbatches alone");
  options = model("2");
  options.quantile = 99;
  EXPECT_EQ(race_options(options).seeds, 500);
}

TEST(Search, draws_a_curve_of_models_whose_times_do_not_vary) {
  SearchOptions options = model("1..2");
  options.microbatches = Counts{3, 3};
  options.seconds = 0;
  options.solver = false;
  const auto curve = curve_of(options, {});
  ASSERT_TRUE(curve.ok());
  EXPECT_EQ(curve.value().points.size(), 2U);
  options.times.jitter = "uniform=0.1";
  EXPECT_EQ(error_of(curve_of(options, {}).errors()),
            "--jitter: orders race with one memory, not with a range of --memory");
  options.times.jitter = "";
  options.file = "bf";
  EXPECT_EQ(error_of(curve_of(options, {}).errors()),
            "--memory A..B is for a model that flags describe: a FILE has its own capacities");
}

}  // namespace
}  // namespace ripeline::load
