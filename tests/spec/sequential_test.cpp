#include "spec/sequential.h"

#include <gtest/gtest.h>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "spec/parse.h"

namespace ripeline::spec {
namespace {

TEST(Sequential, makes_the_ops_of_the_kinds_sequential) {
  const std::string text = library_text("zb_v").value();
  const auto made = sequential(parse({"zb_v", text}).value(), {"forward", "backward weight"});
  ASSERT_TRUE(made.ok());
  const auto program = compile({"zb_v", made.value()});
  ASSERT_TRUE(program.ok()) << render({"zb_v", made.value()}, program.errors());
  for (const Op& op : program.value().ops) {
    EXPECT_EQ(op.sequential, op.kind != core::OpKind::backward_input) << op.name;
  }
}

TEST(Sequential, refuses_a_kind_that_no_op_has) {
  const Source source{"bf", library_text("bf").value()};
  const auto made = sequential(parse(source).value(), {"backward input"});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.errors().front().id, "sequential-kind");
  EXPECT_EQ(made.errors().front().message, "no op has the kind `backward input`");
}

}  // namespace
}  // namespace ripeline::spec
