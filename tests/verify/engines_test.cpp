// Offload, reload and recompute on the copy engines: programs of the shapes that trainers write are
// proved for every number of microbatches, and the wrong ones refuted.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "tests/support/mistakes.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

namespace mistakes = testing_support::mistakes;

using testing_support::judged_with;

// A loaded machine takes this long for a program that a quiet one proves in 0.1 s.
constexpr double kMostSeconds = 60;

enum class Placement { chain, loop, v };

struct Shape {
  std::string name;
  std::string items;  // ops and resources; LINK stands for each link's, SEQ for each `sequential`
  Placement placement = Placement::chain;
  std::string expected = "proved counters";
  std::string dispatch = "ready";
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// `link` is a link, or `sequential`, or nothing.
std::string text_of(const Shape& shape, int ranks, const std::string& link = "") {
  const bool in_order = link.find("slots") == std::string::npos && !link.empty();
  const bool is_link = link.find("via") != std::string::npos;
  std::string text =
      "pipeline engines {\n  param ranks = " + std::to_string(ranks) + ";\n  microbatches any;\n";
  text += shape.placement == Placement::chain  ? "  stages ranks;\n  place s on s;\n"
          : shape.placement == Placement::loop ? "  stages 2 * ranks;\n  place s on s % ranks;\n"
                                               : "  stages 2 * ranks;\n  place s on s < ranks ? s "
                                                 ": 2 * ranks - 1 - s;\n";
  text += shape.items + "  dispatch " + shape.dispatch + ";\n}\n";
  text = replaced(text, " LINK", is_link ? " " + link : "");
  return replaced(text, " SEQ", in_order ? " sequential" : "");
}

Verdict judged(const std::string& text, const testing_support::Mistake* mistake = nullptr) {
  const auto program = spec::compile({"engines.ripe", text});
  EXPECT_TRUE(program.ok()) << spec::render({"engines.ripe", text}, program.errors());
  return mistake ? judged_with(*mistake, program.value(), {}) : verify(program.value());
}

// `proved counters`, `refuted counters 6`.
std::string deadlock_of(const Verdict& verdict) {
  for (const Obligation& o : verdict.obligations) {
    if (o.kind != ObligationKind::deadlock) continue;
    std::string said = name_of(o.outcome) + " " + name_of(o.method);
    if (o.counterexample) said += " " + std::to_string(o.counterexample->microbatches);
    return said;
  }
  return "";
}

std::string reason_of(const Verdict& verdict) {
  for (const Obligation& o : verdict.obligations) {
    if (o.outcome != Outcome::proved) return o.reason;
  }
  return "";
}

// Forwards hold an activation until it is offloaded, and a place on the host until B.
constexpr const char* kForward = R"(
  op F forward SEQ { needs F at prev LINK;  acquires activation;  acquires host; }
  op O offload SEQ on copy_out { needs F at here;  releases activation; }
)";
constexpr const char* kRoom = R"(
  resource activation per rank { capacity 3; }
  resource host per rank { capacity 8; }
)";
// Of several chunks: each leaves room to the later ones, and reloads leave some for forwards.
constexpr const char* kForwardOfChunks = R"(
  op F forward SEQ { needs F at prev LINK;  acquires activation;  acquires host leaving chunks - 1 - chunk; }
  op O offload SEQ on copy_out { needs F at here;  releases activation; }
)";
constexpr const char* kReloadOfChunks =
    "op L reload SEQ on copy_in { needs O at here;  acquires activation leaving chunks - chunk; "
    "}\n";
constexpr const char* kRoomOfChunks = R"(
  resource activation per rank { capacity 4; }
  resource host per rank { capacity 4 * ranks; }
)";
constexpr const char* kBackwardOfTwo = R"(
  op B backward SEQ { needs L at here, B at next LINK;  releases activation;  releases host; }
)";
constexpr const char* kSplitOfTwo = R"(
  op I backward input SEQ { needs L at here, I at next LINK; }
  op W backward weight SEQ { needs I at here;  releases activation;  releases host; }
)";
constexpr const char* kState = R"(
  op S reload once on copy_in { needs B at here of all;  acquires memory 4; }
  op U user "update" once { needs S at here; }
  op Q offload once on copy_out { needs U at here;  releases memory 4; }
  resource memory per rank { capacity 2 * ranks + 2; }
)";

std::vector<Shape> shapes() {
  const std::string reload_early =
      "op L reload SEQ on copy_in { needs O at here;  acquires activation leaving 1; }\n";
  const std::string bytes_out = R"(
  op F forward SEQ { needs F at prev LINK;  acquires memory 5;  acquires host 3; }
  op O offload SEQ on copy_out { needs F at here;  releases memory 3; }
)";
  const std::string bytes_room = R"(
  resource memory per rank { capacity 24; }
  resource host per rank { capacity 24; }
)";
  return {
      {"reload when the gradient is there", kForward + std::string(R"(
  op L reload SEQ on copy_in { needs O at here, B at next LINK;  acquires activation leaving 1; }
  op B backward SEQ { needs L at here;  releases activation;  releases host; }
)") + kRoom},
      {"reload before the gradient is there", kForward + reload_early + kBackwardOfTwo + kRoom},
      {"reload when the next stage does", kForward + std::string(R"(
  op L reload SEQ on copy_in { needs O at here, L at next;  acquires activation leaving 1; }
)") + kBackwardOfTwo + kRoom},
      {"split backward", kForward + reload_early + kSplitOfTwo + kRoom},
      {"a buffer each way", R"(
  op F forward SEQ { needs F at prev LINK;  acquires out;  acquires host; }
  op O offload SEQ on copy_out { needs F at here;  releases out; }
  op L reload SEQ on copy_in { needs O at here;  acquires in; }
  op B backward SEQ { needs L at here, B at next LINK;  releases in;  releases host; }
  resource out per rank { capacity 2; }
  resource in per rank { capacity 2; }
  resource host per rank { capacity 2 * (ranks - r); }
)"},
      {"recompute from a reloaded input", kForward + std::string(R"(
  op L reload SEQ on copy_in { needs O at here, B at next LINK;  acquires input; }
  op R recompute SEQ { needs L at here;  acquires activation leaving 1; }
  op B backward SEQ { needs R at here;  releases activation;  releases input;  releases host; }
  resource input per rank { capacity 2; }
)") + kRoom},
      {"recompute from a kept checkpoint", R"(
  op F forward SEQ { needs F at prev LINK;  acquires memory 4;  acquires flight;  releases memory 3; }
  op R recompute SEQ { needs F at here, B at next LINK;  acquires memory 3; }
  op B backward SEQ { needs R at here;  releases memory 4;  releases flight; }
  resource memory per rank { capacity 2 * ranks + 3; }
  resource flight per rank { capacity 2 * (ranks - r); }
)"},
      {"recompute from a reloaded checkpoint", R"(
  op F forward SEQ { needs F at prev LINK;  acquires memory 4;  acquires host;  releases memory 3; }
  op O offload SEQ on copy_out { needs F at here;  releases memory; }
  op L reload SEQ on copy_in { needs O at here, B at next LINK;  acquires memory leaving 4; }
  op R recompute SEQ { needs L at here;  acquires memory 3; }
  op B backward SEQ { needs R at here;  releases memory 4;  releases host; }
  resource memory per rank { capacity 8; }
  resource host per rank { capacity 8; }
)"},
      {"a part is offloaded, B needs room of its own", bytes_out + R"(
  op L reload SEQ on copy_in { needs O at here, B at next LINK;  acquires memory 3 leaving 5; }
  op B backward SEQ { needs L at here;  acquires memory;  releases memory 6;  releases host 3; }
)" + bytes_room},
      {"a part is offloaded, reloaded early", bytes_out + R"(
  op L reload SEQ on copy_in { needs O at here;  acquires memory 3 leaving 5; }
  op B backward SEQ { needs L at here, B at next LINK;  acquires memory;  releases memory 6;  releases host 3; }
)" + bytes_room},
      {"gradients are offloaded", R"(
  op F forward SEQ { needs F at prev LINK;  acquires activation; }
  op B backward SEQ { needs F at here, B at next LINK;  acquires gradient;  releases activation; }
  op Q offload SEQ on copy_out { needs B at here;  releases gradient; }
  resource gradient per rank { capacity 2; }
  resource activation per stage { capacity ranks - s; }
)"},
      {"loop, reload early",
       kForwardOfChunks + std::string(kReloadOfChunks) + kBackwardOfTwo + kRoomOfChunks,
       Placement::loop},
      {"loop, split backward",
       kForwardOfChunks + std::string(kReloadOfChunks) + kSplitOfTwo + kRoomOfChunks,
       Placement::loop},
      {"V, reload early",
       kForwardOfChunks + std::string(kReloadOfChunks) + kBackwardOfTwo + kRoomOfChunks,
       Placement::v},
      {"V, split backward",
       kForwardOfChunks + std::string(kReloadOfChunks) + kSplitOfTwo + kRoomOfChunks, Placement::v},
      {"V, optimizer state in the room of activations", R"(
  op F forward SEQ { needs F at prev LINK;  acquires memory leaving chunks - 1 - chunk; }
  op B backward SEQ { needs F at here, B at next LINK;  releases memory; }
)" + std::string(kState),
       Placement::v},
      {"loop, optimizer state in the room of activations", R"(
  op F forward SEQ { needs F at prev LINK;  acquires memory leaving chunks - 1 - chunk; }
  op B backward SEQ { needs F at here, B at next LINK;  releases memory; }
)" + std::string(kState),
       Placement::loop},
  };
}

TEST(CopyEngines, shapes_that_trainers_write_are_proved) {
  for (const Shape& shape : shapes()) {
    for (const char* link : {"", "sequential", "via fifo 2"}) {
      for (const int ranks : {1, 4}) {
        const auto start = std::chrono::steady_clock::now();
        const Verdict verdict = judged(text_of(shape, ranks, link));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        EXPECT_EQ(deadlock_of(verdict), shape.expected)
            << shape.name << " on " << ranks << " ranks, " << link << ": " << reason_of(verdict);
        EXPECT_EQ(verdict.outcome, Outcome::proved) << shape.name << link << reason_of(verdict);
        EXPECT_LT(took.count(), kMostSeconds) << shape.name << link;
      }
    }
  }
}

}  // namespace
}  // namespace ripeline::verify
