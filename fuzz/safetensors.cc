#include "store/safetensors.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  succeeds([&] {
    const auto path = Scratch::write("x.safetensors", text_of(data, size));
    const SafetensorsView view(path);
    int64_t sum = 0;
    for (const auto& [name, tensor] : view.tensors()) {
      expect(&view.tensor(name) == &tensor, "a tensor is found by its name");
      for (const std::byte byte : tensor.data) sum += static_cast<int64_t>(byte);
    }
    expect(sum >= 0, "all data can be read");

    const auto copy = Scratch::folder() / "copy.safetensors";
    write_safetensors(copy, view.tensors(), view.metadata());
    const SafetensorsView again(copy);
    // A written file has a checksum, even if the original had none.
    const auto without_checksum = [](TensorMetadata metadata) {
      metadata.erase(kChecksum);
      return metadata;
    };
    expect(without_checksum(again.metadata()) == without_checksum(view.metadata()) &&
               again.tensors().size() == view.tensors().size(),
           "what was read is written and read again");
    for (const auto& [name, tensor] : view.tensors()) {
      const TensorSpan& other = again.tensor(name);
      expect(other.dtype == tensor.dtype && other.shape == tensor.shape &&
                 std::equal(other.data.begin(), other.data.end(), tensor.data.begin(), tensor.data.end()),
             "a tensor comes back as it was");
    }
  });
  return 0;
}
