#include "tests/support/programs.h"

namespace ripeline::testing_support {

std::string chain_text(int ranks, const std::string& dispatch, const std::string& microbatches,
                       const std::string& capacity) {
  const std::string bound = capacity.empty() ? "{ }" : "{ capacity " + capacity + "; }";
  return "pipeline chain {\n"
         "  param ranks = " +
         std::to_string(ranks) +
         ";\n"
         "  microbatches " +
         microbatches +
         ";\n"
         "  stages ranks;\n"
         "  place s on s;\n"
         "  op F forward  { cost 1;  needs F at prev;             acquires activation; }\n"
         "  op B backward { cost 2;  needs F at here, B at next;  releases activation; }\n"
         "  resource activation per stage " +
         bound +
         "\n"
         "  order one_f_one_b on r {\n"
         "    let warm = min(ranks - 1 - r, microbatches);\n"
         "    F * warm;  (F B) * (microbatches - warm);  B * warm;\n"
         "  }\n"
         "  order gpipe on r { F * microbatches;  B * microbatches; }\n"
         "  order waits on r { B * microbatches;  F * microbatches; }\n"
         "  order short on r { F * microbatches;  B * (microbatches - 1); }\n"
         "  hint bf { rounds B, F; }\n"
         "  hint b_first { prefer B, F; }\n"
         "  dispatch " +
         dispatch +
         ";\n"
         "}\n";
}

std::string v_text(int ranks, bool leaving, const std::string& microbatches) {
  return "pipeline v {\n"
         "  param ranks = " +
         std::to_string(ranks) +
         ";\n"
         "  microbatches " +
         microbatches +
         ";\n"
         "  stages 2 * ranks;\n"
         "  place s on s < ranks ? s : 2 * ranks - 1 - s;\n"
         "  op F forward         { needs F at prev;  acquires activation" +
         (leaving ? std::string(" leaving chunks - 1 - chunk") : std::string()) +
         "; }\n"
         "  op I backward input  { needs F at here, I at next; }\n"
         "  op W backward weight { needs I at here;  releases activation; }\n"
         "  resource activation per rank { capacity 2 * ranks; }\n"
         "  hint bfw { rounds I, F;  fill W; }\n"
         "  dispatch ready by bfw;\n"
         "  assert peak activation <= 2 * ranks;\n"
         "}\n";
}

std::string group_text(int ranks, const std::string& agree, const std::string& link,
                       const std::string& microbatches, const std::string& more) {
  return "pipeline group {\n  param ranks = " + std::to_string(ranks) + ";\n  microbatches " +
         microbatches + ";\n  stages ranks;\n  place s on s;\n  tensor_parallel 2 { agree by " +
         agree + "; }\n" + more + "  op F forward { needs F at prev " + link +
         "; acquires a; collectives 2; }\n  op B backward { needs F at here, B at next " + link +
         "; releases a; collectives 2; }\n  resource a per stage { capacity ranks - s; }\n"
         "  hint bf { rounds B, F; }\n  dispatch ready by bf;\n}\n";
}

std::string join_text(bool sequential, const std::string& microbatches, int capacity) {
  const std::string kind = sequential ? " sequential" : "";
  return "pipeline join {\n"
         "  stages vision 1, text 1, llm 1;\n"
         "  edges vision -> llm, text -> llm;\n"
         "  place s on s;\n"
         "  microbatches " +
         microbatches +
         ";\n"
         "  op F forward" +
         kind +
         "  { needs F at prev;  acquires activation; }\n"
         "  op B backward" +
         kind +
         " { needs F at here, B at next;  releases activation; }\n"
         "  resource activation per stage { capacity " +
         std::to_string(capacity) +
         "; }\n"
         "  dispatch ready;\n"
         "}\n";
}

std::string join_via(const std::string& forward, const std::string& link, const std::string& more) {
  return "pipeline join {\n  microbatches any;\n  stages vision 1, text 1, llm 1;\n"
         "  edges vision -> llm, text -> llm;\n  place s on s;\n  op F forward " +
         forward + " { needs F at prev " + link +
         "; acquires a; }\n  op B backward { needs F at here, B at next; releases a; }\n"
         "  resource a per stage { capacity 4; }\n  hint bf { rounds B, F; }\n" +
         more + "  dispatch ready by bf;\n}\n";
}

std::string chain_of(const std::string& ops, const std::string& capacity) {
  return "pipeline chain {\n  param ranks = 4;\n  microbatches any;\n  stages ranks;\n"
         "  place s on s;\n  hint bf { rounds B, F; }\n  dispatch ready by bf;\n"
         "  resource a per stage { capacity " +
         capacity + "; }\n" + ops + "}\n";
}

std::string order_via(const std::string& link, const std::string& microbatches,
                      const std::string& more) {
  std::string text = chain_text(4, "in order one_f_one_b", microbatches);
  for (const std::string need : {"F at prev", "B at next"}) {
    text.replace(text.find(need), need.size(), need + " via " + link);
  }
  return text.insert(text.find("  op F"), more);
}

std::string labels_text(const std::string& link) {
  return R"(pipeline labels {
  param ranks = 3;
  microbatches any;
  stages ranks;
  place s on s;
  op L user "send labels" when s == 0 { cost 0; }
  op F forward  { cost 1;  needs F at prev via rendezvous;  acquires activation; }
  op T user "take labels" when s == stages - 1 { cost 0;  needs F at here, L at (0))" +
         link + R"(; }
  op B backward { cost 2;  needs F at here, B at next via rendezvous;  releases activation; }
  resource activation per stage { capacity ranks - s; }
  order labels_first on r {
    let warm = min(ranks - 1 - r, microbatches);
    rank 0 { (L F) * warm;  (L F B) * (microbatches - warm);  B * warm; }
    rank 1 { F * warm;  (F B) * (microbatches - warm);  B * warm; }
    rank 2 { (F T B) * microbatches; }
  }
  dispatch in order labels_first;
}
)";
}

std::string recompute_text(const std::string& forward) {
  return R"(pipeline recompute {
  microbatches any;
  stages 2;
  place s on s;
  op F forward   { needs F at prev;             acquires memory 1)" +
         forward + R"(; }
  op R recompute { needs F at here, B at next;  acquires memory 3; }
  op B backward  { needs R at here, B at next;  releases memory 4; }
  resource memory per stage { capacity 6; }
  hint bf { rounds B, R, F; }
  dispatch ready by bf;
}
)";
}

}  // namespace ripeline::testing_support
