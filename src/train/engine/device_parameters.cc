#include "train/engine/device_parameters.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "device/device_region.h"

namespace plimsoll {
DeviceParameters::DeviceParameters(Device& device, c10::Device tensors,
                                   const std::vector<const ParameterList*>& lists) {
  int64_t bytes = 0;
  for (const ParameterList* list : lists)
    for (const ParameterList::Entry& entry : list->all()) {
      copies_.push_back({entry.value, entry.value.detach(), {}, bytes});
      bytes += DeviceRegion::round_up(static_cast<int64_t>(entry.value.nbytes()));
    }
  row_ = at::empty({bytes}, at::TensorOptions(tensors).dtype(at::kByte));
  for (Copy& copy : copies_)
    copy.there = row_.narrow(0, copy.place, static_cast<int64_t>(copy.host.nbytes()))
                     .view(copy.host.scalar_type())
                     .view(copy.host.sizes());
  staging_ = device.pin(bytes);
}

DeviceParameters::InUse::InUse(DeviceParameters& parameters, DeviceStream& stream) : parameters_(parameters) {
  std::byte* const staging = parameters_.staging_->write().data();
  for (const Copy& copy : parameters_.copies_)
    std::memcpy(staging + copy.place, copy.host.const_data_ptr(), copy.host.nbytes());
  stream.copy_to_device(static_cast<std::byte*>(parameters_.row_.mutable_data_ptr()),
                        parameters_.staging_->data(), parameters_.staging_->bytes());
  stream.wait();
  // It stays the same tensor to whoever holds it.
  for (const Copy& copy : parameters_.copies_) copy.model.set_data(copy.there);
}

DeviceParameters::InUse::~InUse() {
  for (const Copy& copy : parameters_.copies_) copy.model.set_data(copy.host);
}

}  // namespace plimsoll
