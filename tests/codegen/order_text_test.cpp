// Tests that orders of the language become C++, with a table of orders and their code.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/parts.h"
#include "spec/elaborate.h"

namespace ripeline::codegen {
namespace {

std::string text_of(const std::string& order) {
  const spec::Source source{"p.ripe", fmt::format(R"(
pipeline p {{
  microbatches 4 .. 8;
  stages 4;
  place s on s % 2;
  op F forward {{ needs F at prev; }}
  op B backward {{ needs F at here, B at next; }}
  order o on r {{ {} }}
  dispatch ready by o;
}}
)",
                                                  order)};
  const spec::Result<spec::Program> program = spec::compile(source);
  if (!program.ok()) return spec::render(source, program.errors());
  return order_rule(program.value()).functions;
}

TEST(OrderText, is_straight_code) {
  struct Case {
    std::string order;
    std::string expected;  // the parameters and the body
  };
  const Case cases[] = {
      {"F@0; B@1; B@0 * 0;",
       "(core::OrderWriter& order) {\n  order.add(ops::kF, 0);\n  order.add(ops::kB, 1);\n}\n"},
      {"F@0 * microbatches;",
       "(std::int64_t microbatches, core::OrderWriter& order) {\n"
       "  for (std::int64_t place = 0; place < microbatches; ++place) order.add(ops::kF, 0);\n}\n"},
      {"let n = microbatches - r; let unused = 2 * n; (F@0 F@1) * n;",
       "(std::int64_t r, std::int64_t microbatches, core::OrderWriter& order) {\n"
       "  const std::int64_t n = microbatches - r;\n"
       "  for (std::int64_t place = 0; place < n; ++place) {\n"
       "    order.add(ops::kF, 0);\n    order.add(ops::kF, 1);\n  }\n}\n"},
      {"F@(chunks - 1) * min(microbatches, 3, 2 + r);",
       "(std::int64_t r, std::int64_t microbatches, core::OrderWriter& order) {\n"
       "  for (std::int64_t place = 0; place < std::min<std::int64_t>({microbatches, 3, 2 + r}); "
       "++place) {\n    order.add(ops::kF, 1);\n  }\n}\n"},
      {"let place = microbatches div 2; F@0 * (place + microbatches % 2); B@0 * (r == 0 ? 0 : 1);",
       "(std::int64_t r, std::int64_t microbatches, core::OrderWriter& order) {\n"
       "  const std::int64_t place_ = core::floor_div(microbatches, 2);\n"
       "  for (std::int64_t place = 0; place < place_ + core::floor_mod(microbatches, 2); ++place) "
       "{\n    order.add(ops::kF, 0);\n  }\n"
       "  for (std::int64_t place = 0; place < (r == 0 ? std::int64_t{0} : std::int64_t{1}); "
       "++place) {\n    order.add(ops::kB, 0);\n  }\n}\n"},
      {"rank 0 { F@0; F@1 * 2; } rank 1 { B@1 * 0; } rank (2 - 1) { F@1; } B@0;",
       "(std::int64_t r, core::OrderWriter& order) {\n"
       "  if (r == 0) {\n    order.add(ops::kF, 0);\n"
       "    for (std::int64_t place = 0; place < 2; ++place) order.add(ops::kF, 1);\n  }\n"
       "  if (r == 1) {\n    order.add(ops::kF, 1);\n  }\n  order.add(ops::kB, 0);\n}\n"},
      {"F@0 * ceil(microbatches / 3);",
       "(std::int64_t microbatches, core::OrderWriter& order) {\n"
       "  for (std::int64_t place = 0; place < core::ceil_div(microbatches, 3); ++place) "
       "{\n    order.add(ops::kF, 0);\n  }\n}\n"},
      {"F@0 * (r > 0 and not (microbatches > 5 or r == 1) ? microbatches : 1);",
       "(std::int64_t r, std::int64_t microbatches, core::OrderWriter& order) {\n"
       "  for (std::int64_t place = 0; place < (r > 0 && !(microbatches > 5 || r == 1) ? "
       "microbatches : std::int64_t{1}); ++place) {\n    order.add(ops::kF, 0);\n  }\n}\n"},
      {"let half = microbatches / 2; F@0 * floor(half * 3);",
       "(core::Fraction microbatches, core::OrderWriter& order) {\n"
       "  const core::Fraction half = microbatches / 2;\n"
       "  for (std::int64_t place = 0; place < core::floor(half * 3); ++place) "
       "order.add(ops::kF, 0);\n}\n"},
  };
  for (const Case& c : cases) {
    const std::string text = text_of(c.order);
    const std::size_t head = text.find("void order_o");
    ASSERT_NE(head, std::string::npos) << c.order << "\n" << text;
    EXPECT_EQ(text.substr(head + 12), c.expected) << c.order;
  }
}

}  // namespace
}  // namespace ripeline::codegen
