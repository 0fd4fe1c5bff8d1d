// Runs one step of a proved schedule on the toy model, with each rank as a thread, using only the
// installed package.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "runtime/network/local.h"
#include "runtime/run.h"
#include "runtime/toy_work.h"
#include "schedule.h"

using namespace ripeline;

int main() {
  constexpr int kMicrobatches = 6;
  const runtime::ToyModel model{.stages = schedule::facts.stages, .width = 4, .seed = 1};
  auto group = runtime::network::make_local_group(schedule::facts.ranks);
  std::vector<core::Status> results(group.size());
  std::vector<double> losses(group.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < group.size(); ++r) {
    threads.emplace_back([&, r] {
      const auto arbiter = schedule::make_arbiter(static_cast<int>(r));
      runtime::ToyWork work(model);
      runtime::Run run(*group[r]);
      runtime::InlineEngine engine(work);
      runtime::protocol::Rank rank(*arbiter, run.layout(), run.self());
      results[r] = run.step(rank, engine, 0, kMicrobatches);
      if (results[r].ok()) results[r] = run.finish(std::chrono::seconds(10));
      losses[r] = work.loss();
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
