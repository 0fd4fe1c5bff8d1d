// Tests offload, reload and recompute on the copy engines: programs like those of trainers are
// proved for every number of microbatches, and wrong programs are refuted.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "verify/verify.h"

namespace ripeline::verify::engines_test {
namespace {

// A loaded machine may need this long for a program that an idle machine proves in 0.1 s.
constexpr double kMostSeconds = 60;

enum class Placement { chain, loop, v };

struct Shape {
  std::string name;
  std::string items;  // ops and resources; LINK and SEQ stand for the link and for `sequential`
  Placement placement = Placement::chain;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The ops are sequential if `link` is `sequential`, or `fifo`, which preserves the messages' order.
std::string text_of(const Shape& shape, int ranks, const std::string& link) {
  static const std::map<Placement, std::string> kPlaces = {
      {Placement::chain, "stages ranks;  place s on s;"},
      {Placement::loop, "stages 2 * ranks;  place s on s % ranks;"},
      {Placement::v, "stages 2 * ranks;  place s on s < ranks ? s : 2 * ranks - 1 - s;"}};
  const std::string text = "pipeline engines {\n  param ranks = " + std::to_string(ranks) +
                           ";\n  microbatches any;\n" + kPlaces.at(shape.placement) + shape.items +
                           "  dispatch ready;\n}\n";
  const bool in_order = link == "sequential" || link.starts_with("via fifo");
  return replaced(replaced(text, " LINK", link.starts_with("via") ? " " + link : ""), " SEQ",
                  in_order ? " sequential" : "");
}

Verdict judged(const std::string& text) {
  const auto program = spec::compile({"engines.ripe", text});
  EXPECT_TRUE(program.ok()) << spec::render({"engines.ripe", text}, program.errors());
  return verify(program.value());
}

const Obligation& deadlock_of(const Verdict& verdict) {
  return *std::find_if(verdict.obligations.begin(), verdict.obligations.end(),
                       [](const Obligation& o) { return o.kind == ObligationKind::deadlock; });
}

// A text such as `proved counters` or `refuted counters 6`.
std::string said_of(const Obligation& o) {
  const std::string said = name_of(o.outcome) + " " + name_of(o.method);
  return o.counterexample ? said + " " + std::to_string(o.counterexample->microbatches) : said;
}

// A forward holds an activation until O offloads it, and holds room on the host until B.
constexpr const char* kForward = R"(
  op F forward SEQ { needs F at prev LINK;  acquires activation;  acquires host; }
  op O offload SEQ on copy_out { needs F at here;  releases activation; }
)";
constexpr const char* kReload =
    "op L reload SEQ on copy_in { needs O at here;  acquires activation leaving 1; }\n";
constexpr const char* kRoom = R"(
  resource activation per rank { capacity 3; }
  resource host per rank { capacity 8; }
)";
// Ops of several chunks. A chunk leaves room for later chunks, and reloads leave room for forwards.
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

std::vector<Shape> right_shapes() {
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
      {"reload before the gradient is there",
       kForward + std::string(kReload) + kBackwardOfTwo + kRoom},
      {"reload when the next stage does", kForward + std::string(R"(
  op L reload SEQ on copy_in { needs O at here, L at next;  acquires activation leaving 1; }
)") + kBackwardOfTwo + kRoom},
      {"split backward", kForward + std::string(kReload) + kSplitOfTwo + kRoom},
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
      {"every second microbatch is offloaded", R"(
  op F forward SEQ { needs F at prev LINK;  acquires activation;  acquires flight; }
  op O offload SEQ on copy_out on m where m % 2 == 0 { needs F at here;  releases activation; }
  op L reload SEQ on copy_in on m where m % 2 == 0 { needs O at here, B at next LINK;  acquires activation leaving 1; }
  op B backward SEQ { needs F at here, L at here, B at next LINK;  releases activation;  releases flight; }
  resource activation per rank { capacity 7; }
  resource flight per rank { capacity 8; }
)"},
      {"two of three microbatches are offloaded, one is recomputed", R"(
  op F forward SEQ { needs F at prev LINK;  acquires activation;  acquires flight; }
  op O offload SEQ on copy_out on m where m % 3 != 0 { needs F at here;  releases activation; }
  op L reload SEQ on copy_in on m where m % 3 != 0 { needs O at here;  acquires activation leaving 1; }
  op D user "drop" SEQ on m where m % 3 == 0 { needs F at here;  releases activation; }
  op R recompute SEQ on m where m % 3 == 0 { needs D at here, B at next;  acquires activation leaving 1; }
  op B backward SEQ { needs R at here, L at here, B at next LINK;  releases activation;  releases flight; }
  resource activation per rank { capacity 8; }
  resource flight per rank { capacity 8; }
)"},
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
  for (const Shape& shape : right_shapes()) {
    for (const char* link : {"", "sequential", "via fifo 2"}) {
      for (const int ranks : {1, 4}) {
        const auto start = std::chrono::steady_clock::now();
        const Verdict verdict = judged(text_of(shape, ranks, link));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        const std::string which =
            shape.name + " on " + std::to_string(ranks) + " ranks, " + link + ": ";
        EXPECT_EQ(said_of(deadlock_of(verdict)), "proved counters")
            << which << deadlock_of(verdict).reason;
        EXPECT_EQ(verdict.outcome, Outcome::proved) << which;
        EXPECT_LT(took.count(), kMostSeconds) << which;
      }
    }
  }
}

TEST(CopyEngines, shapes_that_stick_are_refuted) {
  struct Wrong {
    Shape shape;
    std::string link;
    std::string expected;
  };
  const std::vector<Wrong> wrong = {
      {{"slots fill up with gradients whose activations are away",
        kForward + std::string(kReload) + kBackwardOfTwo + kRoom},
       "via slots 2",
       "refuted counters 4"},
      {{"an offload in order behind forwards that overtake",
        replaced(kForward + std::string(kReload) + kBackwardOfTwo + kRoom, "offload SEQ",
                 "offload sequential")},
       "",
       "refuted counters 4"},
      {{"early reloads of an early chunk take the room of the later one",
        replaced(kForwardOfChunks + std::string(kReloadOfChunks) + kBackwardOfTwo + kRoomOfChunks,
                 "leaving chunks - chunk", "leaving 1"),
        Placement::v},
       "",
       "refuted counters 3"},
      {{"forwards before a full host keep the room of reloads", R"(
  op F forward SEQ { needs F at prev LINK;  acquires activation; }
  op O offload SEQ on copy_out { needs F at here;  releases activation;  acquires host; }
  op L reload SEQ on copy_in { needs O at here, B at next LINK;  acquires activation leaving 1; }
  op B backward SEQ { needs L at here;  releases activation;  releases host; }
)" + std::string(kRoom)},
       "sequential",
       "refuted counters 10"},
  };
  for (const auto& [shape, link, expected] : wrong) {
    const Obligation deadlock = deadlock_of(judged(text_of(shape, 2, link)));
    EXPECT_EQ(said_of(deadlock), expected) << shape.name << ": " << deadlock.reason;
  }
}

// The program of docs/language.md and its verdict.
TEST(CopyEngines, a_circle_through_the_host_is_named) {
  const auto text = [](const std::string& forward, const std::string& offload,
                       const std::string& leaving, int activations, int pinned) {
    return "pipeline away {\n  param ranks = 4;\n  microbatches any;\n  stages ranks;\n"
           "  place s on s;\n"
           "  op F forward { needs F at prev via slots 2;  acquires activation;" +
           forward +
           " }\n"
           "  op O offload on copy_out { needs F at here;  releases activation;" +
           offload +
           " }\n"
           "  op L reload on copy_in { needs O at here, B at next via slots 2;  acquires "
           "activation" +
           leaving +
           "; }\n"
           "  op B backward { needs L at here;  releases activation;  releases pinned; }\n"
           "  resource activation per rank { capacity " +
           std::to_string(activations) + "; }\n  resource pinned per rank { capacity " +
           std::to_string(pinned) + "; }\n  hint bf { rounds B, F; }\n  dispatch ready by bf;\n}\n";
  };
  const std::string pinned = " acquires pinned;";
  const Verdict right = judged(text(pinned, "", " leaving 1", 3, 8));
  EXPECT_EQ(right.outcome, Outcome::proved) << deadlock_of(right).reason;
  EXPECT_EQ(said_of(deadlock_of(right)), "proved counters");
  const Obligation wrong = deadlock_of(judged(text("", pinned, "", 2, 4)));
  EXPECT_EQ(said_of(wrong), "refuted counters 6");
  EXPECT_NE(wrong.reason.find("A circle: 3B0 needs 3L0, 3L0 needs what 3O4 frees, and 3O4 needs "
                              "what 3B0 frees."),
            std::string::npos)
      << wrong.reason;
}

}  // namespace
}  // namespace ripeline::verify::engines_test
