#include "tests/spec/programs.h"

namespace ripeline::testing_support {

const std::vector<std::string>& example_programs() {
  static const std::vector<std::string> programs = {
      R"ripe(pipeline chain {                       # readiness-first, with the memory of 1F1B
  param ranks = 4;                     # -D ranks=8 on the command line
  microbatches any;                    # prove for every count; or 8, or 1 .. 64

  stages ranks;                        # stages 0 .. ranks-1, a chain unless edges say otherwise
  place s on s;                        # stage s on rank s

  op F forward  { cost 1;  needs F at prev;             acquires activation; }
  op B backward { cost 2;  needs F at here, B at next;  releases activation; }

  resource activation per stage { capacity ranks - s; }

  order one_f_one_b on r {             # what rank r does, in order
    let warm = min(ranks - 1 - r, microbatches);
    F * warm;  (F B) * (microbatches - warm);  B * warm;
  }
  hint bf { rounds B, F; }             # one backward if any may start, then one forward if any may start, and again

  dispatch ready by bf;                # a preference. `dispatch in order one_f_one_b;` commits; `dispatch ready by one_f_one_b;` follows it loosely
}
)ripe",
      R"ripe(pipeline zbv {                         # V placement, split backward, deferred weights bounded
  param ranks = 4;   microbatches any;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;

  op F forward         { cost 1;  needs F at prev;             acquires activation leaving chunks - 1 - chunk; }
  op I backward input  { cost 1;  needs F at here, I at next;  }
  op W backward weight { cost 1;  needs I at here;             releases activation; }

  resource activation per rank { capacity 2 * ranks; }         # one pool for the rank's chunks: without `leaving`, refuted with M = 2 * ranks
  hint bfw { rounds I, F;  fill W; }
  dispatch ready by bfw;
  assert peak activation <= 2 * ranks;
}
)ripe",
      R"ripe(pipeline vlm {                         # two encoders feed one decoder; two-way tensor parallelism in every stage
  stages vision 2, text 1, llm 4;      # numbered in this order: 0-1, 2, 3-6; each group is a chain
  edges vision -> llm, text -> llm;    # the last of one to the first of the other
  place s on s;   microbatches 1 .. 256;
  tensor_parallel 2 { agree by intersection; }
  op F forward sequential { cost input;  needs F at prev via fifo 8;         acquires activation;  collectives 2; }
  op B backward { cost 2 * input;  needs F at here, B at next;  releases activation;  collectives 2; }
  op G reduce once { needs B at here of all; }                          # once per step, after all microbatches
  resource activation per stage { capacity 16; }
  hint bf { rounds B, F; }   dispatch ready by bf;
}
)ripe",
      R"ripe(pipeline fragments {
  op O offload on copy_out { cost 0.4;  needs F at here;  releases activation; }    # engines: compute (default), copy_out, copy_in
  op L reload  on copy_in  { cost 0.4;  needs O at here, B at next;  acquires activation; }
  op B backward { cost 2;  needs L at here;  releases activation; }
  op R user "rebalance"    { }     # a function that the training program registers under this name
  op E recompute when s < 2 { }    # only at some stages; a need on a lane that does not exist there is an error
}
)ripe",
      R"ripe(pipeline fragments {
  order interleaved on r {             # several chunks: an order names the chunk; a stream is a sequence to take items from
    stream f = for g in 0 ..< ceil(microbatches / ranks), c in 0 ..< chunks : F@c * ranks;               # a lane with no microbatch left yields nothing
    stream b = for g in 0 ..< ceil(microbatches / ranks), c in 0 ..< chunks : B@(chunks - 1 - c) * ranks;
    let warm = min(2 * (ranks - 1 - r) + (chunks - 1) * ranks, microbatches * chunks);
    f * warm;  (f b) * (microbatches * chunks - warm);  b * warm;
  }
  order zb from csv "zb.csv";          # binds microbatches as the file does
  hint rn { follow one_f_one_b; notices; patience 1.5; yield 0.9; }
  channel inbox per stage { slots 8; }
  channel outbox per rank { slots 2 * ranks; }
  op H forward { needs F at prev via inbox, F at prev via slots 3 of m - 1, F at next via rendezvous, F at here via slots of all; }
  op K once sequential on copy_in when s == 0 on m where m % 2 == 0 { }
  resource bytes per rank { capacity 1000; unit "MiB"; }
  resource measured per stage { }
  pair F, B;
  hint p { prefer A, B;  fill W, V; }
  dispatch in order zb;
}
)ripe",
  };
  return programs;
}

}  // namespace ripeline::testing_support
