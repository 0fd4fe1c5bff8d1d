// Programs whose gradients are bitwise those of one process, whatever the order of their tasks.
#pragma once

namespace ripeline::testing_support {

inline const char* const kSequentialChain = R"(
pipeline chain {
  param ranks = 3;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward sequential  { needs F at prev via fifo 2;             acquires activation; }
  op B backward sequential { needs F at here, B at next via fifo 1;  releases activation; }
  resource activation per stage { capacity ranks - s; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)";

// A V placement: two stages per rank, with the backward in two halves.
inline const char* const kSplitV = R"(
pipeline v {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;
  op F forward sequential { needs F at prev;
                            acquires activation leaving chunks - 1 - chunk; }
  op I backward input sequential  { needs F at here, I at next; }
  op W backward weight sequential { needs I at here;  releases activation; }
  resource activation per rank { capacity 2 * ranks; }
  hint bfw { rounds I, F;  fill W; }
  dispatch ready by bfw;
}
)";

}  // namespace ripeline::testing_support
