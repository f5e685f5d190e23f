#include "fuzz/data_sets.h"
#include "sample/block/graph_set_source.h"

// A graph set that opens returns sound graphs or reports a damaged one; a valid set returns all.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  succeeds([&] {
    const std::filesystem::path folder = write_data_set(text_of(data, size));
    const GraphSetSource source(folder);
    const bool whole = is_whole(folder);
    const bool read = succeeds([&] { expect_sound_graphs(source, whole); });
    expect(read || !whole, "a set that is verified can be read");
  });
  return 0;
}
