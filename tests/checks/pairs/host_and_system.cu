// Memory that kernels may use, in calls of the system: files, names, what the system fills, and locks. The wrong ones
// come before the right ones that differ from them by what the host waits for, or by what it touches.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <thread>

#include "host_and_device.cuh"

// ---- input and output -----------------------------------------------------------------------------------------------

/// A file without a name, for the length of a case.
struct File {
  FILE* file = tmpfile();
  ~File() { fclose(file); }
  operator FILE*() const { return file; }
  int fd() const { return fileno(file); }
};

void expect(bool holds) {
  if (!holds) printf("out: a system call fails\n");
}

// wrong: race.host | kernel fill and the host
HOST(managed_written_to_a_file) {
  Managed x;
  File file;
  fill<<<1, n>>>(x, 2);                              // here
  expect(write(file.fd(), x, bytes) == int{bytes});  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_other_part_written_to_a_file) {
  Managed x(2 * n);
  File file;
  fill<<<1, n>>>(x, 2);
  expect(write(file.fd(), x + n, bytes) == int{bytes});
  cudaDeviceSynchronize();
  expect(write(file.fd(), x, bytes) == int{bytes});
}

// wrong: race.host | RACE (write-after-write)
HOST(managed_read_from_a_file) {
  Managed x, y;
  File file;
  expect(write(file.fd(), y, bytes) == int{bytes});
  fill<<<1, n>>>(x, 2);                                 // here
  expect(pread(file.fd(), x, bytes, 0) == int{bytes});  // here
  cudaDeviceSynchronize();
}

// right
HOST(managed_shorter_file_than_the_memory) {
  Managed x(2 * n), y;
  File file;
  expect(write(file.fd(), y, bytes) == int{bytes});
  fill<<<1, n>>>(x + n, 2);
  expect(pread(file.fd(), x, 2 * bytes, 0) == int{bytes});
  cudaDeviceSynchronize();
}

// wrong: race.host
HOST(pinned_written_by_the_library) {
  Pinned h(16 * page);
  OnDevice x;
  File file;
  cudaMemcpyAsync(h, x, bytes, cudaMemcpyDeviceToHost);          // here
  expect(fwrite(h, sizeof(int), 16 * page, file) == 16 * page);  // here
  cudaDeviceSynchronize();
}

// right
HOST(pinned_source_written_by_the_library) {
  Pinned h(16 * page);
  OnDevice x;
  File file;
  cudaMemcpyAsync(x, h, bytes, cudaMemcpyHostToDevice);
  expect(fwrite(h, sizeof(int), 16 * page, file) == 16 * page);
  cudaDeviceSynchronize();
  rewind(file);
  expect(fread(h, sizeof(int), 16 * page, file) == 16 * page);
}

// wrong: race.host
HOST(managed_written_by_a_stream) {
  Managed x(16 * page);
  std::ofstream file("/dev/null", std::ios::binary);
  fill<<<1, n>>>(x, 2);                                               // here
  file.write(reinterpret_cast<char*>(x.p), 16 * page * sizeof(int));  // here
  expect(file.good());
  cudaDeviceSynchronize();
}

// right
HOST(managed_other_pages_written_by_a_stream) {
  Managed x(16 * page);
  std::ofstream file("/dev/null", std::ios::binary);
  fill<<<1, n>>>(x, 2);
  file.write(reinterpret_cast<char*>(x + n), (16 * page - n) * sizeof(int));
  expect(file.good());
  cudaDeviceSynchronize();
  std::ifstream zeros("/dev/zero", std::ios::binary);
  zeros.read(reinterpret_cast<char*>(x.p), 16 * page * sizeof(int));
  expect(zeros.good());
}

// wrong: race.host
HOST(managed_through_a_pipe) {
  Managed x;
  int ends[2];
  expect(pipe(ends) == 0);
  fill<<<1, n>>>(x, 2);  // here
  iovec pieces[] = {{x + n / 2, bytes / 4}, {x, 16}};
  expect(writev(ends[1], pieces, 2) == bytes / 4 + 16);  // here
  cudaDeviceSynchronize();
  close(ends[0]), close(ends[1]);
}

// right
HOST(managed_through_a_pipe_beside_a_kernel) {
  Managed x(2 * n);
  int ends[2];
  expect(pipe(ends) == 0);
  fill<<<1, n>>>(x, 2);
  iovec pieces[] = {{x + n, bytes / 4}, {x + n + n / 2, 16}};
  expect(writev(ends[1], pieces, 2) == bytes / 4 + 16);
  expect(readv(ends[0], pieces, 2) == bytes / 4 + 16);
  cudaDeviceSynchronize();
  close(ends[0]), close(ends[1]);
}

// ---- names of files, and what the system fills ----------------------------------------------------------------------

struct Named {
  char name[64];
  struct stat status;
  int data[32];
};

__global__ void fill_named(Named* named) {
  named->data[threadIdx.x] = 1;
}

__global__ void name_it(Named* named) {
  named->name[1] = 'd';
}

// wrong: race.host | kernel name_it and the host
HOST(file_opened_whose_name_is_written) {
  Named* named;
  cudaMallocManaged(&named, sizeof(Named));
  strcpy(named->name, "/etc");
  name_it<<<1, 1>>>(named);              // here
  FILE* file = fopen(named->name, "r");  // here
  if (file) fclose(file);
  cudaDeviceSynchronize();
  cudaFree(named);
}

// right
HOST(system_calls_beside_data) {
  Named* named;
  cudaMallocManaged(&named, sizeof(Named));
  strcpy(named->name, "/");
  fill_named<<<1, 32>>>(named);
  FILE* file = fopen(named->name, "r");
  if (!file || stat("/", &named->status) != 0 || access(named->name, R_OK) != 0) printf("a call fails\n");
  if (file) fclose(file);
  cudaDeviceSynchronize();
  cudaFree(named);
}

// ---- locks beside data --------------------------------------------------------------------------------------------

struct Locked {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
  bool is_set = false;
  int data[32];
};

__global__ void fill_locked(Locked* locked) {
  locked->data[threadIdx.x] = 1;
}

// right
HOST(mutex_beside_data) {
  Locked* locked;
  cudaMallocManaged(&locked, sizeof(Locked));
  new (locked) Locked;
  fill_locked<<<1, 32>>>(locked);
  const auto work = [=] {
    for (int k = 0; k < 1000; ++k) {
      const std::lock_guard hold(locked->mutex);
      ++locked->count;
    }
  };
  std::thread a(work), b(work), c(work);
  a.join(), b.join(), c.join();
  cudaDeviceSynchronize();
  if (locked->count != 3000 || locked->data[31] != 1) printf("wrong\n");
  cudaFree(locked);
}

// right
HOST(condition_variable_beside_data) {
  Locked* locked;
  cudaMallocHost(&locked, sizeof(Locked));
  new (locked) Locked;
  fill_locked<<<1, 32>>>(locked);
  std::thread waiting([=] {
    std::unique_lock hold(locked->mutex);
    locked->changed.wait(hold, [=] { return locked->is_set; });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  {
    const std::lock_guard hold(locked->mutex);
    locked->is_set = true;
  }
  locked->changed.notify_all();
  waiting.join();
  cudaDeviceSynchronize();
  cudaFreeHost(locked);
}

// ---- what else the system is given ----------------------------------------------------------------------------------

// right
HOST(names_that_kernels_only_read) {
  char* name;
  cudaMallocHost(&name, 4096);
  strcpy(name, "/tmp");
  OnDevice x;
  copy_to<<<1, 8>>>(x, reinterpret_cast<int*>(name));
  struct stat about;
  expect(stat(name, &about) == 0);
  const int folder = open(name, O_RDONLY | O_DIRECTORY);
  expect(folder >= 0);
  close(folder);
  DIR* const listed = opendir(name);
  expect(listed != nullptr);
  closedir(listed);
  cudaDeviceSynchronize();
  cudaFreeHost(name);
}

// right
HOST(pages_that_no_kernel_uses_are_given_to_the_system) {
  constexpr size_t page = 4096;
  char* all;
  cudaMallocHost(&all, 16 * page);
  fill<<<1, 8>>>(reinterpret_cast<int*>(all), 2);
  expect(clock_getres(CLOCK_MONOTONIC, reinterpret_cast<timespec*>(all + page)) == 0);
  expect(getrusage(RUSAGE_SELF, reinterpret_cast<rusage*>(all + 2 * page)) == 0);
  expect(getrlimit(RLIMIT_CPU, reinterpret_cast<rlimit*>(all + 3 * page)) == 0);
  expect(sigprocmask(SIG_BLOCK, nullptr, reinterpret_cast<sigset_t*>(all + 4 * page)) == 0);
  expect(sysinfo(reinterpret_cast<struct sysinfo*>(all + 5 * page)) == 0);
  auto* const none = reinterpret_cast<fd_set*>(all + 6 * page);
  auto* const most = reinterpret_cast<timeval*>(all + 7 * page);
  FD_ZERO(none);
  *most = {0, 1};
  expect(select(0, none, none, none, most) == 0);
  cudaDeviceSynchronize();
  cudaFreeHost(all);
}

// wrong: race.host | kernel fill and the host
HOST(the_system_fills_what_a_kernel_writes) {
  Managed x;
  fill<<<1, n>>>(x, 2);                                                 // here
  expect(getrusage(RUSAGE_SELF, reinterpret_cast<rusage*>(x.p)) == 0);  // here
  cudaDeviceSynchronize();
}
