#include "engine/fit/position.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

// Any file is a checkpoint with the state of a run, or is refused; a checkpoint that was read is written and
// read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  succeeds([&] {
    const SafetensorsView file(Scratch::write("step.safetensors", text_of(data, size)));
    const ReadPosition read = read_position(file);
    expect(read.position.epoch >= 1 && read.position.step >= 0 && read.optimizer_steps >= 0,
           "a run stands at a step of an epoch");
    const std::string text = position_text(read.position, read.optimizer_steps);
    const std::filesystem::path copy = Scratch::folder() / "again.safetensors";
    write_safetensors(copy, file.tensors(), {{"plimsoll.position", text}});
    const ReadPosition again = read_position(SafetensorsView(copy));
    expect(position_text(again.position, again.optimizer_steps) == text, "a position comes back as it was");
  });
  return 0;
}
