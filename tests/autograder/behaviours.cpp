// A "submission" whose mistake is chosen by the environment variable BEHAVIOUR; its kernels are host code.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runner/protocol.hpp"
#include "scanlab.cuh"

extern int fake_error;

namespace {

const std::string behaviour = std::getenv("BEHAVIOUR") == nullptr ? "right" : std::getenv("BEHAVIOUR");

bool is(const char* name) {
  return behaviour == name;
}

struct Early {
  Early() {
    if (is("early_exit")) _exit(0);
    if (is("early_hang")) pause();
  }
} early;

void scan(const Element* x, Element* y, int n) {
  Element sum = identity();
  for (int i = 0; i < n; ++i) {
    if (i % section_size == 0 && !is("carries")) sum = identity();
    sum = sum + x[i];
    y[i] = sum;
  }
}

[[noreturn]] void work_for_ever() {
  for (volatile bool forever = true; forever;) {
  }
  std::abort();
}

int calls = 0;

/// Watches the input between two calls, and scans the next one as soon as it is there.
class Watcher {
 public:
  Watcher(const Element* x, int n) : last_(reinterpret_cast<const volatile std::uint32_t*>(x + n - 1)), y_(n) {
    thread_ = std::thread([this, x, n, before = *last_] {
      while (*last_ == before) std::this_thread::yield();
      scan(x, y_.data(), n);
    });
  }
  void take(Element* y) {
    thread_.join();
    std::memcpy(y, y_.data(), y_.size() * sizeof(Element));
  }

 private:
  const volatile std::uint32_t* last_;
  std::vector<Element> y_;
  std::thread thread_;
};

}  // namespace

void inclusive_scan(const Element* d_x, Element* d_y, int n) {
  ++calls;
  if (is("late")) {  // the entry returns, and the work goes on
    std::thread([=] {
      usleep(50'000);
      scan(d_x, d_y, n);
    }).detach();
    return;
  }
  static Watcher* watcher = nullptr;
  if (watcher != nullptr) {
    watcher->take(d_y);
  } else {
    scan(d_x, d_y, n);
  }
  if (is("begins_early")) watcher = new Watcher(d_x, n);
  if (is("steady")) usleep(5'000);
  if (is("slow")) usleep(100'000);
  if (is("hang")) work_for_ever();
  if (is("waits")) pause();
  if (is("hang_in_child")) {
    if (fork() == 0) work_for_ever();
    pause();
  }
  if (is("hang_in_orphan")) {  // whose parent has ended
    if (fork() == 0) {
      if (fork() == 0) work_for_ever();
      _exit(0);
    }
    pause();
  }
  if (is("exit0")) std::exit(0);
  if (is("crash")) raise(SIGSEGV);
  if (is("null")) *reinterpret_cast<volatile int*>(0) = 1;
  if (is("device_pointer")) *reinterpret_cast<volatile int*>(0x200000001000) = 1;
  if (is("from_40") && n >= 40) d_y[37] = d_y[0];
  if (is("whole_sections") && n % section_size != 0) d_y[n - 1] = d_y[0] + d_y[0] + d_y[n - 1];
  if (is("error")) fake_error = cudaErrorIllegalAddress;
  if (is("prints")) std::printf("hello from n = %d\nPASS 100 points\n", n);
  if (is("prints_wrong")) {
    std::printf("hello from n = %d\nPASS 100 points\n", n);
    if (n > 0) d_y[0] = d_y[n - 1] + d_y[n - 1] + d_x[0];
  }
  if (is("flood")) {
    while (true) std::puts("again and again and again and again and again and again");
  }
  if (is("claims_no_memory")) {
    scanlab::runner::Done done;
    done.serial = 1;
    done.status = scanlab::runner::Done::Status::no_memory_map;
    (void)!write(std::atoi(std::getenv("SCANLAB_RUNNER_FD")), &done, sizeof done);
    pause();
  }
  if (is("garbles"))
    (void)!write(std::atoi(std::getenv("SCANLAB_RUNNER_FD")), "done, believe me, it is all right, really", 40);
  if (is("input") && n > 1) const_cast<Element*>(d_x)[1] = identity();
  if (is("beyond")) d_y[n] = identity();
  if (is("leftover") && calls > 3 && n > 0) d_y[n - 1] = identity();
  if (is("grows") && n > 0) {
    for (int k = 0; k < calls; ++k) d_y[n - 1] = d_y[n - 1] + d_x[0];
  }
  if (is("rounds") && n == 1024) {  // another last bit in each process, and a mistake
    std::uint32_t bits;
    std::memcpy(&bits, &d_y[n - 1], sizeof(bits));
    bits += static_cast<std::uint32_t>(getpid()) % 64;
    std::memcpy(&d_y[n - 1], &bits, sizeof(bits));
    d_y[500] = d_y[500] + d_y[500] + d_x[0];
  }
  if (is("stray") && fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    while (true) sleep(1);
  }
}

void compact(const Element* d_x, Element* d_y, int* d_kept, int n) {
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    if (keep(d_x[i])) d_y[kept++] = d_x[i];
  }
  if (is("count_left_out")) return;
  *d_kept = is("counts_all") ? n : kept;
  if (is("leaves_garbage") && kept < n) d_y[kept] = d_y[0];
  if (is("beyond_count")) d_kept[1] = 0;
  if (is("backwards") && kept > 1) {
    for (int i = 0; i < kept / 2; ++i) {
      const Element element = d_y[i];
      d_y[i] = d_y[kept - 1 - i];
      d_y[kept - 1 - i] = element;
    }
  }
}

void split(const Element* d_x, Element* d_y, int* d_kept, int n) {
  int kept = 0, other = 0;
  for (int i = 0; i < n; ++i) kept += keep(d_x[i]);
  *d_kept = is("counts_all") ? n : kept;
  for (int i = 0, place = 0; i < n; ++i) d_y[keep(d_x[i]) ? place++ : kept + other++] = d_x[i];
  if (is("drops_others") && kept < n) d_y[n - 1] = d_y[0];
  if (is("beyond_count")) d_kept[1] = 0;
  if (is("steady")) usleep(5'000);
}
