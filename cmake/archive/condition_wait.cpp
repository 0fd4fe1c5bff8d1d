// std::condition_variable::wait(lock) for programs and modules that run on other machines. GCC 12
// links it in a version that GCC 11's libstdc++, which RHEL 9 has, does not offer. With this one
// they ask for none.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

extern "C" __attribute__((visibility("hidden"))) void
ripeline_condition_wait(std::condition_variable* self, std::unique_lock<std::mutex>& lock) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");

// The function has C++'s calling convention of a member: the object comes first. As that of
// libstdc++, it ignores errors, which POSIX allows only for wrong arguments.
extern "C" void ripeline_condition_wait(std::condition_variable* self,
                                        std::unique_lock<std::mutex>& lock) {
  pthread_cond_wait(self->native_handle(), lock.mutex()->native_handle());
}
