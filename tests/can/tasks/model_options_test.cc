#include "engine/model_file/model_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "can/tasks/detector_file.h"
#include "engine/model_file/gnn_file.h"
#include "memory/ledger.h"
#include "nn/sgmp.h"
#include "ops/allocator.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::string_literals;

// A kind of model file: a valid file, and the function that reads it.
struct Kind {
  const char* name;
  std::function<void(const std::filesystem::path&)> save;
  std::function<void(const std::filesystem::path&)> load;
};

void load_as_gnn(const std::filesystem::path& path) {
  load_gnn(path);
}
void load_as_detector(const std::filesystem::path& path) {
  load_detector(path);
  map_detector(path);
}

std::vector<Kind> kinds() {
  const auto gat = [](const std::filesystem::path& path) {
    save_detector(path, {std::make_unique<GATWithJK>(GatOptions{.num_ids = 20}, 5), nullptr, {}});
  };
  const auto vgae = [](const std::filesystem::path& path) {
    const VgaeOptions options{.num_ids = 20, .hidden = {24, 12}};
    save_detector(path, {nullptr, std::make_unique<GraphAutoencoderNeighborhood>(options, 5), {}});
  };
  const auto gnn = [](const std::filesystem::path& path) {
    const GnnOptions options{.conv = ConvKind::gat,
                             .in_features = 3,
                             .edge_features = 2,
                             .num_ids = 20,
                             .hidden = 8,
                             .norm = NormKind::graph,
                             .values = true};
    save_gnn(path, {.model = std::make_unique<Gnn>(options, 5)});
  };
  const auto sgmp = [](const std::filesystem::path& path) {
    save_gnn(path,
             {.model = std::make_unique<Sgmp>(SgmpOptions{.in_features = 3, .norm = PathNorm::batch}, 5)});
  };
  const auto gtmp = [](const std::filesystem::path& path) {
    save_gnn(path, {.model = std::make_unique<Sgmp>(SgmpOptions{.in_features = 3, .gtmp = true}, 5)});
  };
  return {{"gat", gat, load_as_detector},
          {"vgae", vgae, load_as_detector},
          {"gnn", gnn, load_as_gnn},
          {"sgmp", sgmp, load_as_gnn},
          {"gtmp", gtmp, load_as_gnn}};
}

class ModelOptions : public testing::Test {
 protected:
  static void SetUpTestSuite() { install_ledger_allocator(); }

  Json config(const Kind& kind) const {
    kind.save(good_);
    return parse_json(SafetensorsView(good_).meta("plimsoll.config"));
  }
  // Writes the valid file with these options.
  void write(const Json& config) const {
    const SafetensorsView file(good_);
    TensorMetadata metadata = file.metadata();
    metadata["plimsoll.config"] = config.dump();
    write_safetensors(bad_, file.tensors(), metadata);
  }
  std::string refusal(const Kind& kind, const Json& config) const {
    write(config);
    try {
      kind.load(bad_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TempFolder folder_;
  const std::filesystem::path good_ = folder_ / "good.safetensors";
  const std::filesystem::path bad_ = folder_ / "bad.safetensors";
};

TEST_F(ModelOptions, ImpossibleOnesAreNamedInEveryKindOfFile) {
  for (const Kind& kind : kinds()) {
    const Json good = config(kind);
    ASSERT_EQ(refusal(kind, good), "") << kind.name;
    for (const auto& [key, value] : good.items())
      for (const Json& hostile :
           {Json(-1), Json(int64_t{1} << 62), Json(1.5), Json("x"), Json(nullptr), Json::array({-3})}) {
        if (key == "cutoff" && hostile.is_number() && hostile > 0) continue;
        Json changed = good;
        changed[key] = hostile;
        EXPECT_THAT(refusal(kind, changed), AllOf(HasSubstr("metadata 'plimsoll.config'"), HasSubstr(key)))
            << kind.name << ": " << key << " = " << hostile;
      }
  }
}

TEST_F(ModelOptions, SizesThatTheTensorsHaveNotTakeNoMemory) {
  constexpr int64_t kHeader = 64 << 10;  // Maximum size of the file's header.
  Ledger& ledger = Ledger::process();
  for (const Kind& kind : kinds()) {
    const Json good = config(kind);
    for (const auto& [key, value] : good.items()) {
      if (!value.is_number_integer()) continue;
      if (key == "tile" || key == "spanning_trees") continue;  // No tensor depends on these options.
      // The option is used if it divides the width; otherwise it is 1.
      if (kind.name == "vgae"s && key.ends_with("heads")) continue;
      for (const int64_t size : {value.get<int64_t>() + 1, int64_t{4000}, int64_t{1} << 24}) {
        Json changed = good;
        changed[key] = size;
        const int64_t before = ledger.held(Tag::parameters);
        ledger.begin_recent();
        const std::string found = refusal(kind, changed);
        EXPECT_THAT(found, HasSubstr("bad.safetensors: ")) << kind.name << ": " << key << " = " << size;
        EXPECT_LT(ledger.recent_peak(Tag::parameters), before + kHeader) << key << " = " << size;
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
