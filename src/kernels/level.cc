#include "kernels/level.h"

#include <array>
#include <cstdlib>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr std::array<const char*, 3> kNames = {"portable", "avx2", "avx512"};

Level chosen_level() {
  const Level best = best_level();
  const char* const wish = std::getenv("PLIMSOLL_SIMD");
  if (wish == nullptr || *wish == '\0') return best;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (std::string(wish) != kNames[i]) continue;
    const auto level = static_cast<Level>(i);
    if (level > best)
      throw UsageError("PLIMSOLL_SIMD=" + std::string(wish) + ": this processor supports at most " +
                       name_of(best));
    return level;
  }
  throw UsageError("PLIMSOLL_SIMD='" + std::string(wish) + "' is not portable, avx2 or avx512");
}

}  // namespace

Level best_level() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return Level::avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Level::avx2 : Level::portable;
}

Level kernel_level() {
  static const Level level = chosen_level();
  return level;
}

std::string name_of(Level level) {
  return kNames[static_cast<size_t>(level)];
}

}  // namespace plimsoll
