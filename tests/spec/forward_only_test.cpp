#include "spec/forward_only.h"

#include <gtest/gtest.h>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "spec/parse.h"

namespace ripeline::spec {
namespace {

Result<std::string> forwards_of(const std::string& text) {
  return forward_only(parse({"test.ripe", text}).value());
}

TEST(ForwardOnly, has_the_forwards_and_none_of_what_a_backward_gives_back) {
  EXPECT_EQ(
      forwards_of(library_text("bf").value()).value(),
      R"(# The forwards of bf, for evaluation: a rank runs any that is ready, of later stages first.
pipeline bf_forward {
  param ranks = 4;
  param f = 1;
  param b = 2;
  param limit = 0;
  microbatches any;

  stages ranks;
  place s on s;

  op F forward { cost f;  needs F at prev; }

  hint later_stages_first { priority F = s; }
  dispatch ready by later_stages_first;
}
)");
}

TEST(ForwardOnly, keeps_what_forwards_have_among_themselves) {
  const auto text = forwards_of(R"(pipeline many {
  microbatches 4;
  stages 4;
  place s on s % 2;
  op E forward when s == 0 { acquires table; }
  op F forward { needs E at (0), F at prev via inbox;  acquires memory;  acquires activation; }
  op G forward on m where m % 2 == 0 { needs F at here;  releases memory; }
  op B backward { needs F at here, B at next via outbox;  releases activation; }
  op U user "step" once { needs B at here of all;  acquires table; }
  pair F, G { cost 2; }
  pair F, B;
  resource memory per rank { capacity 8; }
  resource activation per rank { capacity 8; }
  resource table per rank { }
  channel inbox per stage { slots 4; }
  channel outbox per stage { slots 4; }
  order all on r { F@0 * 4; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
  assert peak memory <= 8;
  assert peak activation <= 8;
}
)");
  ASSERT_TRUE(text.ok()) << text.errors().front().message;
  for (const char* const kept :
       {"op E forward when s == 0 {", "needs E at (0), F at prev via inbox;", "acquires memory;",
        "on m where m % 2 == 0", "releases memory;", "pair F, G { cost 2; }",
        "resource memory per rank { capacity 8; }", "channel inbox", "assert peak memory <= 8;",
        "priority E = s, F = s, G = s;"}) {
    EXPECT_NE(text.value().find(kept), std::string::npos) << kept << '\n' << text.value();
  }
  for (const char* const left_out :
       {"activation", "table", "op B", "op U", "pair F, B", "outbox", "order", "rounds"}) {
    EXPECT_EQ(text.value().find(left_out), std::string::npos) << left_out << '\n' << text.value();
  }
  const auto program = compile({"test.ripe", text.value()});
  ASSERT_TRUE(program.ok()) << program.errors().front().message;
  EXPECT_EQ(program.value().lanes.size(), 9U);
}

TEST(ForwardOnly, says_what_it_cannot_leave_out) {
  const auto error_of = [](const std::string& ops) {
    const std::string text =
        "pipeline p { microbatches any;  stages 2;  place s on s;  " + ops + "  dispatch ready; }";
    const Diagnostics errors = forwards_of(text).errors();
    EXPECT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors.front().id, "forward-only");
    return errors.front().message + " at " +
           text.substr(errors.front().span.begin,
                       errors.front().span.end - errors.front().span.begin);
  };
  EXPECT_EQ(error_of("op F { needs F at prev; }"), "no op has the kind `forward` at p");
  EXPECT_EQ(error_of("op P user \"data\" { }  op F forward { needs P at here; }"),
            "F needs P, which is no `forward` at P");
  EXPECT_EQ(error_of("op F forward { needs F at prev via rendezvous; }"),
            "F needs F via rendezvous, for which an order is necessary at rendezvous");
}

}  // namespace
}  // namespace ripeline::spec
