// The cost of a verdict: wall time on one core, without parsing.
//
//   fixed_order_512      1F1B in order, 128 ranks, exactly 512 microbatches        at most 0.1 s
//   chain_every_count    1F1B's memory under `dispatch ready`, 64 ranks, any count at most 2 s
//   interleaved_reserved 2 chunks, 16 ranks, `leaving` in one pool, any count      at most 0.5 s
//   v_split_backward     the V with split backward, 16 ranks, any count            at most 1 s
//   interleaved_8_2      interleaved 1F1B in order, 8 ranks, 2 chunks, any count   at most 1 s
//   interleaved_16_4     the same with 16 ranks and 4 chunks                       at most 5 s
//   interleaved_64_2     the same with 64 ranks and 2 chunks                       at most 20 s
//   in_order_64          each schedule of the library that is in order, 64 ranks, any count
//                                                                                  at most 20 s
//   ready_64             each other schedule of the library, 64 ranks, any count   at most 5 s
//   v_split_backward_128 the same as v_split_backward, with 128 ranks              at most 5 s
//   wire_graph           the sends and receives of 1F1B, 128 ranks, 512 microbatches, with one
//                        communicator per edge: judge_wire() alone, without the lowering
// A case stops with an error if its verdict is not `proved` or `safe`.
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "verify/verify.h"
#include "wire/layouts.h"
#include "wire/wire.h"

namespace ripeline {
namespace {

constexpr const char* kInterleaved = R"(
pipeline interleaved {
  param ranks = 16;
  microbatches any;
  stages 2 * ranks;
  place s on s % ranks;
  op F forward  { cost 1;  needs F at prev;             acquires activation leaving chunks - 1 - chunk; }
  op B backward { cost 2;  needs F at here, B at next;  releases activation; }
  resource activation per rank { capacity 2 * ranks; }
  dispatch ready;
}
)";

std::string with_count(std::string text, const std::string& count) {
  const std::string any = "microbatches any;";
  const auto at = text.find(any);
  return at == std::string::npos ? text
                                 : text.replace(at, any.size(), "microbatches " + count + ";");
}

spec::Program compiled(const std::string& text, std::int64_t ranks) {
  return spec::compile({"bench.ripe", text}, {.defines = {{"ranks", ranks}}, .dispatch = ""})
      .value();
}

spec::Program interleaved(std::int64_t ranks, std::int64_t chunks) {
  const std::string text = spec::library_text("interleaved_1f1b").value();
  return spec::compile({"bench.ripe", text},
                       {.defines = {{"ranks", ranks}, {"chunks", chunks}}, .dispatch = ""})
      .value();
}

std::string library(const char* name) { return spec::library_text(name).value(); }

void verdict(benchmark::State& state, const spec::Program& program) {
  for (auto _ : state) {
    const verify::Verdict verdict = verify::verify(program);
    if (verdict.outcome != verify::Outcome::proved) state.SkipWithError("not proved");
  }
}

void fixed_order_512(benchmark::State& state) {
  verdict(state, compiled(with_count(library("1f1b"), "512"), 128));
}
void chain_every_count(benchmark::State& state) { verdict(state, compiled(library("bf"), 64)); }
void interleaved_reserved(benchmark::State& state) { verdict(state, compiled(kInterleaved, 16)); }
void v_split_backward(benchmark::State& state) { verdict(state, compiled(library("bfw_v"), 16)); }

void v_split_backward_128(benchmark::State& state) {
  verdict(state, compiled(library("bfw_v"), 128));
}
void interleaved_8_2(benchmark::State& state) { verdict(state, interleaved(8, 2)); }
void interleaved_16_4(benchmark::State& state) { verdict(state, interleaved(16, 4)); }
void interleaved_64_2(benchmark::State& state) { verdict(state, interleaved(64, 2)); }

void wire_graph(benchmark::State& state) {
  const spec::Program program = compiled(with_count(library("1f1b"), "512"), 128);
  const wire::WireProgram wire = wire::wire_program(program, 512, wire::WireStreams::apart);
  for (auto _ : state) {
    const wire::WireVerdict verdict = wire::judge_wire(wire);
    if (verdict.kind != wire::WireVerdict::Kind::safe) state.SkipWithError("not safe");
  }
}

BENCHMARK(fixed_order_512)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(chain_every_count)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(interleaved_reserved)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(v_split_backward)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(v_split_backward_128)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(interleaved_8_2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(interleaved_16_4)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(interleaved_64_2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(wire_graph)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace ripeline

int main(int argc, char** argv) {
  using namespace ripeline;
  for (const spec::LibraryEntry& entry : spec::library()) {
    spec::Program program = compiled(std::string(entry.text), 64);
    const char* group = program.dispatch.in_order ? "in_order_64/" : "ready_64/";
    benchmark::RegisterBenchmark(
        (group + std::string(entry.name)).c_str(),
        [](benchmark::State& state, const spec::Program& of) { verdict(state, of); },
        std::move(program))
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
