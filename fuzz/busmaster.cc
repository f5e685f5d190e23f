#include "fuzz/captures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  return fuzz_capture(data, size, "busmaster", [](const Format&, int64_t, std::string_view) {});
}
