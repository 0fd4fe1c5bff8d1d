// One step of a proved schedule with the toy model, each rank a thread, from the installed package
// alone.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "runtime/network/local.h"
#include "runtime/toy_work.h"
#include "runtime/worker.h"
#include "schedule.h"

using namespace ripeline;

int main() {
  constexpr int kMicrobatches = 6;
  const runtime::ToyModel model{.stages = schedule::facts.stages, .width = 4, .seed = 1};
  auto group = runtime::network::make_local_group(schedule::facts.ranks);
  std::vector<core::Status> results(group.size());
  std::vector<double> losses(group.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const auto arbiter = schedule::make_arbiter(static_cast<int>(rank));
      runtime::ToyWork work(model);
      runtime::Run run(*group[rank]);
      runtime::InlineEngine engine(work);
      runtime::Worker worker(*arbiter, run, engine);
      runtime::process::StepReport report;
      results[rank] = worker.step(0, kMicrobatches, report);
      if (results[rank].ok()) results[rank] = run.finish(std::chrono::seconds(10));
      losses[rank] = work.loss();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const core::Status& status : results) {
    if (!status.ok()) return std::puts(status.message().c_str()), 1;
  }
  std::printf("loss %.6f, unpipelined %.6f\n", losses.back(),
              runtime::reference_gradients(model, 0, kMicrobatches).loss);
  return 0;
}
