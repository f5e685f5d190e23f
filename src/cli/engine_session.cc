#include "cli/engine_session.h"

#include <fmt/format.h>

#include "cli/open_device.h"
#include "engine/plan/warm_up.h"
#include "run/training_data.h"

namespace plimsoll {
namespace {

std::unique_ptr<TrainingDevice> open_and_warm_up(const DeviceOptions& options, Exchange* exchange,
                                                 int threads) {
  std::unique_ptr<TrainingDevice> device = open_device(options, exchange, threads);
  warm_up_torch(threads);
  return device;
}

}  // namespace

EngineSession::EngineSession(const Resources& resources, const DeviceOptions& device, Exchange* exchange)
    : threads_(resources.thread_count()),
      device_(open_and_warm_up(device, exchange, threads_)),
      budget_(resources, 0, kHeapSlack, /*may_be_below=*/true) {}

void EngineSession::enforce(const std::filesystem::path& data) {
  // The workers, the threads that read the data, and one thread that reads blocks ahead.
  const int threads = threads_ + threads_that_read(data) + 1;
  enforcement_ = std::make_unique<Enforcement>(budget_.bytes(), threads);
  if (enforcement_->rlimit_data() == 0)
    fmt::print(stderr, "plimsoll: --enforce: RLIMIT_DATA cannot be set\n");
  if (!enforcement_->group().refusal().empty())
    fmt::print(stderr, "plimsoll: --enforce: continuing without a memory cgroup: {}\n",
               enforcement_->group().refusal());
}

Json EngineSession::enforced() const {
  if (enforcement_ == nullptr) return nullptr;
  const auto text = [](const std::string& known) { return known.empty() ? Json() : Json(known); };
  return {{"rlimit_data_bytes", enforcement_->rlimit_data() > 0 ? Json(enforcement_->rlimit_data()) : Json()},
          {"cgroup", text(enforcement_->group().name())},
          {"refused", text(enforcement_->group().refusal())}};
}

}  // namespace plimsoll
