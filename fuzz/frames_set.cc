#include "can/windows/windows.h"
#include "fuzz/data_sets.h"

// A frames set that opens can be cut into windows, even if its columns are damaged.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  succeeds([&] {
    const std::filesystem::path folder = write_data_set(text_of(data, size));
    const FramesView view(folder);
    expect(!view.identity().empty(), "a set has an identity");
    is_whole(folder);
    const WindowOptions compat{WindowFeatures::compat, 4, 3};
    const WindowOptions behaviour{WindowFeatures::behaviour, 4, 3};
    const WindowOptions by_time{WindowFeatures::behaviour, 1'000'000, 700'000, WindowUnit::nanoseconds};
    for (const WindowOptions& options : {compat, behaviour, by_time})
      succeeds([&] { expect_sound_graphs(*open_windows(view, options), true); });
  });
  return 0;
}
