#include "engine/blocks/device_parameters.h"

#include <ATen/ops/from_blob.h>

#include <cstring>

#include "device/device_region.h"

namespace plimsoll {
DeviceParameters::DeviceParameters(Device& device, DeviceTensors& tensors, c10::Device torch,
                                   const std::vector<const ParameterList*>& lists) {
  int64_t bytes = 0;
  for (const ParameterList* list : lists)
    for (const ParameterList::Entry& entry : list->all()) {
      copies_.push_back({entry.value, entry.value.detach(), {}, bytes});
      bytes += DeviceRegion::round_up(static_cast<int64_t>(entry.value.nbytes()));
    }
  if (bytes == 0) return;
  room_.emplace(tensors, bytes);
  for (Copy& copy : copies_)
    copy.on_device = at::for_blob(room_->stretch().data + copy.place, copy.host.sizes())
                         .options(copy.host.options().device(torch))
                         .target_device(torch)
                         .make_tensor();
  staging_ = device.pin(bytes);
}

DeviceParameters::InUse::InUse(DeviceParameters& parameters, DeviceStream& stream) : parameters_(parameters) {
  if (!parameters_.room_) return;
  std::byte* const staging = parameters_.staging_->write().data();
  for (const Copy& copy : parameters_.copies_)
    std::memcpy(staging + copy.place, copy.host.const_data_ptr(), copy.host.nbytes());
  stream.copy_to_device(parameters_.room_->stretch().data, parameters_.staging_->data(),
                        parameters_.staging_->bytes());
  stream.wait();
  // Layers keep the same tensor object; only its data is switched.
  for (const Copy& copy : parameters_.copies_) copy.model.set_data(copy.on_device);
}

DeviceParameters::InUse::~InUse() {
  for (const Copy& copy : parameters_.copies_) copy.model.set_data(copy.host);
}

}  // namespace plimsoll
