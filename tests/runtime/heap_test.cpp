#include "runtime/training/heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace ripeline::runtime::training {
namespace {

constexpr std::size_t kBuffer = 4 << 20;
constexpr int kBuffers = 4;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// Uses memory as a task does: allocates buffers, writes to them, and frees them.
void use_memory() {
  std::vector<void*> buffers;
  for (int i = 0; i < kBuffers; ++i) {
    buffers.push_back(std::malloc(kBuffer));
    std::memset(buffers.back(), i, kBuffer);
  }
  for (void* buffer : buffers) std::free(buffer);
}

// The page faults of ten tasks, after two tasks that are not counted, in a thread of their own.
long faults_of_tasks() {
  long faults = 0;
  std::thread([&faults] {
    use_memory();
    use_memory();
    const long before = page_faults();
    for (int i = 0; i < 10; ++i) use_memory();
    faults = page_faults() - before;
  }).join();
  return faults;
}

// A separate process runs this, because the setting is permanent.
TEST(HeapDeathTest, keeps_what_is_freed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
  EXPECT_EXIT(
      {
        keep_freed_memory();
        std::_Exit(faults_of_tasks() < 100 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(HeapDeathTest, leaves_it_to_the_environment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
  EXPECT_EXIT(
      {
        setenv("MALLOC_MMAP_THRESHOLD_", "131072", 1);
        keep_freed_memory();
        std::_Exit(faults_of_tasks() >= 100 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ripeline::runtime::training
