// What every call that the virtual GPU does not offer (yet) does; make_stubs.py writes the calls themselves.
#include <set>
#include <string>

#include "cudart/call.hpp"

extern "C" int scanlab_cudart_unsupported(const char* name) {
  using namespace scanlab::cudart;
  return call([&](Client&) {
    static std::set<std::string> said;
    if (said.insert(name).second)
      say("%s is not supported by the virtual GPU yet: it returns cudaErrorNotSupported", name);
    return cudaErrorNotSupported;
  });
}
