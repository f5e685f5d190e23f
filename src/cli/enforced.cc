#include "cli/enforced.h"

#include <fmt/format.h>

namespace plimsoll {

std::unique_ptr<Enforcement> enforce(bool is_requested, const Budget& budget, int threads) {
  if (!is_requested) return nullptr;
  auto enforcement =
      // Counts the workers, and one thread that reads ahead.
      std::make_unique<Enforcement>(budget.bytes(), threads + 1);
  if (enforcement->rlimit_data() == 0) fmt::print(stderr, "plimsoll: --enforce: RLIMIT_DATA cannot be set\n");
  if (!enforcement->group().refusal().empty())
    fmt::print(stderr, "plimsoll: --enforce without a memory cgroup: {}\n", enforcement->group().refusal());
  return enforcement;
}

Json enforced_json(const Enforcement* enforcement) {
  if (enforcement == nullptr) return nullptr;
  const auto text = [](const std::string& known) { return known.empty() ? Json() : Json(known); };
  return {{"rlimit_data_bytes", enforcement->rlimit_data() > 0 ? Json(enforcement->rlimit_data()) : Json()},
          {"cgroup", text(enforcement->group().name())},
          {"refused", text(enforcement->group().refusal())}};
}

}  // namespace plimsoll
