#include <array>

#include "fuzz/property.h"
#include "fuzz/scratch.h"
#include "ingest/swc/tar_reader.h"

// Files of an archive have the size that it states, or it is refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  const auto path = Scratch::write("a.tar", text_of(data, size));
  succeeds([&] {
    TarReader tar(path);
    for (bool whole = true; tar.next(); whole = !whole) {
      expect(tar.bytes() >= 0 && tar.bytes() < int64_t{1} << 62, "a size is one");
      if (!whole) continue;
      std::array<char, 1000> piece;
      int64_t read = 0;
      for (size_t got = 1; got > 0; read += static_cast<int64_t>(got))
        got = tar.read(piece.data(), piece.size());
      expect(read == tar.bytes(), "a file has the bytes that its header says");
    }
  });
  return 0;
}
