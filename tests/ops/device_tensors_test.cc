#include "ops/device_tensors.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "device/host_device.h"

namespace plimsoll {
namespace {

class DeviceTensorsTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_host_device({.bytes = kMiB, .host_computes = true});
  DeviceRegion region_{*device_, kMiB};
  DeviceTensors tensors_{region_};
};

TEST_F(DeviceTensorsTest, PiecesOfTheRegionAreWrittenDown) {
  TapeRecorder recorder;
  void* const before = tensors_.take(100);
  void* first = nullptr;
  {
    const DeviceRangeScope scope(nullptr, &recorder);
    first = tensors_.take(1000);
    tensors_.give(tensors_.take(300), 300);
    tensors_.take(0);
    const DeviceRangeScope inner(nullptr);  // Records nothing.
    tensors_.give(tensors_.take(5000), 5000);
  }
  tensors_.give(tensors_.take(200), 200);
  ASSERT_EQ(recorder.tape.pieces.size(), 3);
  EXPECT_EQ(recorder.tape.pieces[0].bytes, 1000);
  EXPECT_EQ(recorder.tape.pieces[0].room, 1024);
  EXPECT_EQ(recorder.tape.pieces[0].given, Tape::kNever);
  EXPECT_EQ(recorder.tape.pieces[1].given, 2);
  EXPECT_EQ(recorder.tape.pieces[2].bytes, 0);
  tensors_.give(first, 1000);
  tensors_.give(before, 100);
  EXPECT_EQ(tensors_.in_use(), 0);
}

TEST_F(DeviceTensorsTest, ThePeakBeginsWithWhatIsInUse) {
  void* const kept = tensors_.take(1024);
  tensors_.give(tensors_.take(4096), 4096);
  EXPECT_EQ(tensors_.peak(), 5120);
  tensors_.begin_peak();
  EXPECT_EQ(tensors_.peak(), 1024);
  tensors_.end_peak(5120);
  EXPECT_EQ(tensors_.peak(), 5120);
  tensors_.give(kept, 1024);
}

TEST_F(DeviceTensorsTest, WorkIsWaitedForBeforeAnotherStreamHasThePiece) {
  int waits = 0;
  tensors_.wait_between_streams([&] { ++waits; });
  int first_stream = 0, second_stream = 0;
  const auto use = [&](const void* stream) {
    tensors_.give(tensors_.take(512, stream), 512, stream);
    return waits;
  };
  EXPECT_EQ(use(nullptr), 0);
  EXPECT_EQ(use(&first_stream), 1);
  EXPECT_EQ(use(&first_stream), 1);
  EXPECT_EQ(use(&second_stream), 2);
  EXPECT_EQ(use(&first_stream), 3);
  // The piece is freed by a stream that did not allocate the last piece.
  void* const first = tensors_.take(512, &first_stream);
  void* const second = tensors_.take(512, &second_stream);
  EXPECT_EQ(waits, 4);
  tensors_.give(first, 512, &first_stream);
  tensors_.give(tensors_.take(512, &second_stream), 512, &second_stream);
  EXPECT_EQ(waits, 5);
  tensors_.give(second, 512, &second_stream);
  EXPECT_EQ(use(&second_stream), 5);
}

TEST_F(DeviceTensorsTest, ARefusalBecomesAnotherException) {
  EXPECT_THROW(tensors_.take(2 * kMiB), DeviceRegionFull);
  tensors_.set_refusal([](const DeviceRegionFull& full) { throw full.asked(); });
  try {
    tensors_.take(2 * kMiB);
    FAIL();
  } catch (int64_t asked) {
    EXPECT_EQ(asked, 2 * kMiB);
  }
  void* const all = tensors_.take(kMiB);
  EXPECT_NE(all, nullptr);
  tensors_.give(all, kMiB);
}

}  // namespace
}  // namespace plimsoll
