#include "fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return plimsoll::fuzz_reader(data, size, "sqlite");
}
