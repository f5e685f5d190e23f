#include "fuzz/streams.h"
#include "support/compress.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return plimsoll::fuzz_stream(data, size, "stream.gz", plimsoll::gzip_member);
}
