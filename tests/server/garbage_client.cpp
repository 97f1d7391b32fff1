// A program that sends garbage to vgpu-run from several processes, which share its connection, and ends well: vgpu-run
// closes the connection, says so, and returns this program's exit code.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "vgpu/server/protocol.hpp"

int main() {
  const char* number = std::getenv(scanlab::server::wire::fd_variable);
  if (number == nullptr) return 1;
  const int fd = std::atoi(number);
  for (unsigned child = 0; child < 4; ++child) {
    if (fork() != 0) continue;
    std::mt19937 random(child);
    std::vector<char> bytes(1 + random() % 100000);
    for (char& b : bytes) b = static_cast<char>(random());
    (void)scanlab::server::wire::send_all(fd, bytes.data(), bytes.size());
    _exit(0);
  }
  while (wait(nullptr) > 0) {
  }
  return 5;
}
