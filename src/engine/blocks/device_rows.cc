#include "engine/blocks/device_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/place_rows/place_rows_gpu.h"

namespace plimsoll {
namespace {

void place_rows_on_host(const PlacedRows& rows) {
  for (int64_t row = 0; row < rows.rows; ++row) {
    const int64_t place = rows.places[row];
    const float* const from =
        place >= 0 ? rows.kept + place * rows.features : rows.coming + (-1 - place) * rows.features;
    std::copy_n(from, rows.features, rows.out + row * rows.features);
  }
}

}  // namespace

DeviceRows::DeviceRows(Device& device, DeviceTensors& tensors, const FeatureRows& source, Size size,
                       int64_t staging_bytes)
    : source_(source), row_bytes_(size.width * int64_t{sizeof(float)}), room_(tensors, size.bytes()) {
  const std::unique_ptr<PinnedBuffer> staging = device.pin(std::max(staging_bytes, row_bytes_));
  const std::unique_ptr<DeviceStream> stream = device.make_stream();
  const std::span<std::byte> bytes = staging->write();
  const std::span buffer(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
  source.leave_out(size.rows, buffer, [&](int64_t rows) {
    if (rows == 0) return;
    stream->copy_to_device(room_.stretch().data + rows_ * row_bytes_, staging->data(), rows * row_bytes_);
    stream->wait();
    staging->write();
    rows_ += rows;
  });
}

void place_rows(DeviceStream& stream, Stretch kept, Stretch coming, const at::Tensor& row_place,
                const at::Tensor& x) {
  const PlacedRows rows{.kept = reinterpret_cast<const float*>(kept.data),
                        .coming = reinterpret_cast<const float*>(coming.data),
                        .places = row_place.const_data_ptr<int32_t>(),
                        .rows = x.size(0),
                        .features = x.size(1),
                        .out = x.mutable_data_ptr<float>()};
  const auto work = [rows](void* native) {
    if (native == nullptr)
      place_rows_on_host(rows);
    else
      place_rows_cuda(rows, native);
  };
  stream.run("rows of features",
             {reads(kept.data, kept.bytes), reads_pinned(coming.data, coming.bytes),
              reads(rows.places, static_cast<int64_t>(row_place.nbytes())),
              writes(rows.out, static_cast<int64_t>(x.nbytes()))},
             work);
}

}  // namespace plimsoll
