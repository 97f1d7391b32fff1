// Mutexes, condition variables and semaphores in memory that kernels may use.
//
// A thread that has to wait for one asks the system, which fails with EFAULT where a page is closed (host_watch.hpp);
// then the C library ends the program. Opening the page for the call alone would not do: one thread closes it again
// while another one is about to wait. So a page is watched no more from the first use of a lock in it on.
//
// The locks that a thread holds are counted: what it does meanwhile other threads have an order for.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

#include "cudart/memory/host_watch.hpp"

namespace scanlab::cudart {

thread_local unsigned held_locks = 0;

namespace {

/// The C library's function of this name; of pthread_cond_wait and its like there is an older version with another
/// layout.
template <class Function>
Function* real(std::atomic<Function*>& known, const char* name) {
  Function* function = known.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  void* found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  function = reinterpret_cast<Function*>(found);
  known.store(function, std::memory_order_relaxed);
  return function;
}

void uses_lock(const void* lock, std::size_t bytes) {
  if (HostWatch* const watch = HostWatch::in_use(); watch != nullptr)
    watch->keep_open(reinterpret_cast<Address>(lock), bytes);
}

enum class Then { takes, gives, neither };

int count(Then then, int error) {
  if (error == 0 && then == Then::takes) ++held_locks;
  if (error == 0 && then == Then::gives && held_locks > 0) --held_locks;
  return error;
}

}  // namespace
}  // namespace scanlab::cudart

using namespace scanlab::cudart;

/// NAME with its parameters in parentheses is called with ARGUMENTS, of which the first is the lock.
#define SCANLAB_LOCK(NAME, PARAMETERS, ARGUMENTS, LOCK, SPECIFIER, THEN) \
  __attribute__((weak)) int NAME PARAMETERS SPECIFIER {                  \
    static constinit std::atomic<int(*) PARAMETERS> known{nullptr};      \
    uses_lock(LOCK, sizeof *LOCK);                                       \
    return count(THEN, real<int PARAMETERS>(known, #NAME) ARGUMENTS);    \
  }

extern "C" {

// clang-format off
SCANLAB_LOCK(pthread_mutex_lock, (pthread_mutex_t* lock), (lock), lock, noexcept, Then::takes)
SCANLAB_LOCK(pthread_mutex_trylock, (pthread_mutex_t* lock), (lock), lock, noexcept, Then::takes)
SCANLAB_LOCK(pthread_mutex_timedlock, (pthread_mutex_t* lock, const timespec* until), (lock, until), lock, noexcept,
             Then::takes)
SCANLAB_LOCK(pthread_mutex_clocklock, (pthread_mutex_t* lock, clockid_t clock, const timespec* until),
             (lock, clock, until), lock, noexcept, Then::takes)
SCANLAB_LOCK(pthread_mutex_unlock, (pthread_mutex_t* lock), (lock), lock, noexcept, Then::gives)

SCANLAB_LOCK(pthread_rwlock_rdlock, (pthread_rwlock_t* lock), (lock), lock, noexcept, Then::takes)
SCANLAB_LOCK(pthread_rwlock_wrlock, (pthread_rwlock_t* lock), (lock), lock, noexcept, Then::takes)
SCANLAB_LOCK(pthread_rwlock_tryrdlock, (pthread_rwlock_t* lock), (lock), lock, noexcept, Then::takes)
SCANLAB_LOCK(pthread_rwlock_trywrlock, (pthread_rwlock_t* lock), (lock), lock, noexcept, Then::takes)
SCANLAB_LOCK(pthread_rwlock_unlock, (pthread_rwlock_t* lock), (lock), lock, noexcept, Then::gives)

// The mutex of a condition variable is known from where it was taken.
SCANLAB_LOCK(pthread_cond_wait, (pthread_cond_t* condition, pthread_mutex_t* lock), (condition, lock), condition, ,
             Then::neither)
SCANLAB_LOCK(pthread_cond_timedwait, (pthread_cond_t* condition, pthread_mutex_t* lock, const timespec* until),
             (condition, lock, until), condition, , Then::neither)
SCANLAB_LOCK(pthread_cond_clockwait,
             (pthread_cond_t* condition, pthread_mutex_t* lock, clockid_t clock, const timespec* until),
             (condition, lock, clock, until), condition, , Then::neither)
SCANLAB_LOCK(pthread_cond_signal, (pthread_cond_t* condition), (condition), condition, noexcept, Then::neither)
SCANLAB_LOCK(pthread_cond_broadcast, (pthread_cond_t* condition), (condition), condition, noexcept, Then::neither)

SCANLAB_LOCK(pthread_barrier_wait, (pthread_barrier_t* barrier), (barrier), barrier, noexcept, Then::neither)

SCANLAB_LOCK(sem_wait, (sem_t* semaphore), (semaphore), semaphore, , Then::neither)
SCANLAB_LOCK(sem_timedwait, (sem_t* semaphore, const timespec* until), (semaphore, until), semaphore, , Then::neither)
SCANLAB_LOCK(sem_clockwait, (sem_t* semaphore, clockid_t clock, const timespec* until), (semaphore, clock, until),
             semaphore, , Then::neither)
SCANLAB_LOCK(sem_trywait, (sem_t* semaphore), (semaphore), semaphore, noexcept, Then::neither)
SCANLAB_LOCK(sem_post, (sem_t* semaphore), (semaphore), semaphore, noexcept, Then::neither)
// clang-format on

/// What std::atomic's wait() comes to.
__attribute__((weak)) long syscall(long number, ...) noexcept {
  static constinit std::atomic<long (*)(long, ...)> known{nullptr};
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& one : a) one = va_arg(list, long);
  va_end(list);
  if (number == SYS_futex) uses_lock(reinterpret_cast<const void*>(a[0]), sizeof(int));
  return real<long(long, ...)>(known, "syscall")(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"
