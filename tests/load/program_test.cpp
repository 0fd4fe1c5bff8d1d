// Tests that programs can be read without a command: errors are values, and nothing is printed.
#include "load/program.h"

#include <gtest/gtest.h>

#include <fstream>

#include "load/megatron.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "tests/runtime/ranks.h"

namespace ripeline::load {
namespace {

class LoadProgram : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name) << text;
    return folder_.path() + "/" + name;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(LoadProgram, makes_one_of_a_library_schedule_and_of_a_csv) {
  ProgramOptions options;
  options.defines = {"ranks=3"};
  const auto named = read_program("1f1b", options);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named.value().program.ranks, 3);
  Reading reading;
  const auto csv = read_program(file("one.csv", "0F0,0B0\n"), {}, &reading);
  ASSERT_TRUE(csv.ok()) << csv.errors().front().message;
  EXPECT_EQ(csv.value().form, InputForm::schedule);
  EXPECT_EQ(csv.value().program.microbatches.max, 1);
  ASSERT_TRUE(reading.input);
  EXPECT_EQ(reading.input->source.text, "0F0,0B0\n");
}

TEST_F(LoadProgram, gives_what_was_read_beside_its_errors) {
  Reading reading;
  const auto missing = read_program(folder_.path() + "/none.ripe", {}, &reading);
  ASSERT_FALSE(missing.ok());
  EXPECT_TRUE(spec::is_failure(missing.errors().front()));
  EXPECT_FALSE(reading.input);
  const auto wrong = read_program(file("wrong.ripe", "pipeline p {"), {}, &reading);
  ASSERT_FALSE(wrong.ok());
  EXPECT_FALSE(spec::is_failure(wrong.errors().front()));
  ASSERT_TRUE(reading.input);
  EXPECT_EQ(reading.input->source.text, "pipeline p {");
}

// The user's text is unchanged, and compiling that text again gives the same program.
TEST_F(LoadProgram, narrows_the_program_to_a_range_of_counts) {
  ProgramOptions options;
  const auto all = read_program("1f1b", options);
  options.microbatches = Counts{2, 8};
  const auto some = read_program("1f1b", options);
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_EQ(some.value().source.text, all.value().source.text);
  EXPECT_EQ(some.value().program.microbatches.min, 2);
  EXPECT_EQ(some.value().program.microbatches.max, 8);
  EXPECT_NE(some.value().program.hash, all.value().program.hash);
  const auto tree = spec::parse(some.value().source);
  const spec::Source written{"again",
                             spec::print(spec::narrowed(tree.value(), some.value().options))};
  EXPECT_EQ(spec::compile(written).value().hash, some.value().program.hash);
}

// The file is there, but it may have changed.
TEST_F(LoadProgram, makes_it_again_without_files_that_were_not_read) {
  file("order.csv", "0F0,0B0\n");
  const std::string path = file("one.ripe",
                                "pipeline one { microbatches 1;  stages 1;  place s on s;\n"
                                "  op F forward { needs F at prev; }\n"
                                "  op B backward { needs F at here; }\n"
                                "  order o from csv \"order.csv\";\n"
                                "  dispatch in order o;\n}\n");
  const auto read = read_program(path, {});
  ASSERT_TRUE(read.ok()) << read.errors().front().message;
  const auto again = made_of({read.value().source, read.value().form}, {}, {});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.errors().front().message,
            "'order.csv' cannot be read: it is not among the files that were read");
}

// Files that were read may be gone.
TEST_F(LoadProgram, makes_it_again_from_what_was_read) {
  file("order.csv", "0F0,0B0\n");
  const std::string path = file("one.ripe",
                                "pipeline one { microbatches 1;  stages 1;  place s on s;\n"
                                "  op F forward { needs F at prev; }\n"
                                "  op B backward { needs F at here; }\n"
                                "  order o from csv \"order.csv\";\n"
                                "  dispatch in order o;\n}\n");
  for (const std::string& name : {path, folder_.path() + "/order.csv"}) {
    const auto read = read_program(name, {});
    ASSERT_TRUE(read.ok()) << read.errors().front().message;
    const LoadedProgram& before = read.value();
    EXPECT_EQ(before.files->size(), 1U);
    const auto again =
        made_of({{"/nowhere/" + name, before.source.text}, before.form}, *before.files, {});
    ASSERT_TRUE(again.ok()) << again.errors().front().message;
    EXPECT_EQ(again.value().program.hash, before.program.hash);
    EXPECT_EQ(again.value().form, before.form);
  }
}

TEST_F(LoadProgram, asks_again_for_every_number_of_ranks) {
  ProgramOptions options;
  options.defines = {"ranks=3", "f=2"};
  const auto read = read_program("1f1b", options);
  ASSERT_TRUE(read.ok());
  options.defines = {"ranks=3", "ranks=any"};
  EXPECT_FALSE(tree_again(read.value(), options).ok());
  options.defines = {"f=2", "ranks=any"};
  const auto tree = tree_again(read.value(), options);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree.value().source.text, read.value().source.text);
  EXPECT_EQ(tree.value().options.defines, (std::map<std::string, std::int64_t>{{"f", 2}}));
}

TEST(ProgramOptions, of_every_rank_have_no_number_of_ranks) {
  ProgramOptions options;
  options.defines = {"ranks=3", "f=2", "ranks=any"};
  options = of_every_rank(std::move(options));
  EXPECT_EQ(options.defines, (std::vector<std::string>{"f=2", "ranks=any"}));
  EXPECT_TRUE(for_every_rank(options));
}

TEST(MegatronProgram, sets_the_params_and_leaves_the_rest) {
  MegatronOptions options;
  options.pipeline_model_parallel_size = 4;
  options.num_layers = 16;
  const auto text = megatron_program(options);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text.value().find("  param layers = 16;  # --num-layers\n"), std::string::npos);
  EXPECT_EQ(spec::print(spec::parse({"megatron", text.value()}).value()), text.value());
}

}  // namespace
}  // namespace ripeline::load
