#include "engine/fit/device_meter.h"

#include <algorithm>

namespace plimsoll {

void DeviceMeter::begin() {
  process_ = 0;
  busy_ = 0;
  samples_ = 0;
  last_look_ = {};
}

void DeviceMeter::look() {
  constexpr std::chrono::seconds kBetweenLooks{1};
  const Clock::time_point now = Clock::now();
  if (run_ == nullptr || now - last_look_ < kBetweenLooks) return;
  last_look_ = now;
  sample();
}

void DeviceMeter::sample() {
  const auto reading = run_->reading();
  if (!reading) return;
  process_ = std::max(process_, reading->held);
  if (!reading->busy) return;
  busy_ += *reading->busy;
  ++samples_;
}

void DeviceMeter::add_to(EpochCost& cost, const EpochCost& before) {
  if (run_ == nullptr) return;
  sample();
  const DeviceUse use = run_->use(*plan_);
  cost.device_planned = use.planned;
  cost.device_used = std::max(before.device_used, use.measured);
  cost.device_process = std::max(before.device_process, process_);
  cost.device_busy = samples_ > 0 ? busy_ / static_cast<double>(samples_) : before.device_busy;
}

}  // namespace plimsoll
