#include "kernels/place_rows/place_rows_steps.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/test_device.h"

// Tests kernels/place_rows/place_rows.cu through its step on the host, and on a GPU if there is one.

namespace plimsoll {
namespace {

using Floats = std::vector<float>;

class PlaceRowsTest : public OnDevice {};

TEST_P(PlaceRowsTest, PutsEachRowInItsPlace) {
  std::mt19937_64 draw(7);
  for (const int64_t features : {1, 3, 4, 31, 32, 100, 128, 130, 260})
    for (const int64_t nodes : {0, 1, 77}) {
      SCOPED_TRACE(testing::Message() << nodes << " rows of " << features);
      Floats kept, coming;
      std::vector<double> expected;
      std::vector<int32_t> places;
      const auto add = [&](Floats& rows) {
        for (int64_t c = 0; c < features; ++c) rows.push_back(static_cast<float>(draw() % 1000) / 8);
      };
      for (int row = 0; row < 9; ++row) add(kept);
      for (int64_t n = 0; n < nodes; ++n) {
        const bool comes = draw() % 3 == 0;
        if (comes) {
          places.push_back(static_cast<int32_t>(-1 - static_cast<int64_t>(coming.size()) / features));
          add(coming);
          expected.insert(expected.end(), coming.end() - features, coming.end());
        } else {
          places.push_back(static_cast<int32_t>(draw() % 9));
          const auto first = kept.begin() + places.back() * features;
          expected.insert(expected.end(), first, first + features);
        }
      }
      TestDevice device(GetParam(), true);
      float* const out = device.filled<float>(nodes * features, -1);
      const PlacedRows rows{.kept = device.upload(kept),
                            .coming = device.upload(coming),
                            .places = device.upload(places),
                            .rows = nodes,
                            .features = features,
                            .out = out};
      if (device.on_host())
        run_place_rows(rows, device.launch());
      else
        place_rows_cuda(rows, nullptr);
      EXPECT_EQ(device.download(out, nodes * features), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, PlaceRowsTest,
                         testing::Values(Where::host, Where::host_backwards, Where::cuda), name_of_place);

}  // namespace
}  // namespace plimsoll
