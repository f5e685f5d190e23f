#include "config/sections/gat.h"
#include "config/sections/gnn.h"
#include "config/sections/paths.h"
#include "config/sections/vgae.h"
#include "engine/model_file/model_options.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

namespace plimsoll {
namespace {

// Options that were read are valid, and stay the same when they are written and read again.
template <typename Options>
void come_back(const SafetensorsView& file) {
  const Json options = options_json(read_options<Options>(file));
  for (const auto& [key, value] : options.items())
    for (const Json& entry : value.is_array() ? value : Json::array({value}))
      if (entry.is_number_integer())
        expect(entry >= 0 && entry <= 1 << 24, "a size that passes is one that a model can have");
  TensorMetadata metadata = file.metadata();
  metadata["plimsoll.config"] = options.dump();
  const std::filesystem::path copy = Scratch::folder() / "again.safetensors";
  write_safetensors(copy, file.tensors(), metadata);
  expect(options_json(read_options<Options>(SafetensorsView(copy))) == options,
         "options come back as they were");
}

}  // namespace
}  // namespace plimsoll

// Any file holds the options of a model of its kind, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  succeeds([&] {
    const SafetensorsView file(Scratch::write("model.safetensors", text_of(data, size)));
    const std::string& kind = file.meta("plimsoll.model");
    if (kind == "gat_with_jk")
      come_back<GatOptions>(file);
    else if (kind == "graph_autoencoder_neighborhood")
      come_back<VgaeOptions>(file);
    else if (kind == "gnn")
      come_back<GnnOptions>(file);
    else if (kind == "sgmp" || kind == "gtmp")
      come_back<SgmpOptions>(file);
  });
  return 0;
}
