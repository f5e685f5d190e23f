#pragma once

#include "base/words.h"

namespace plimsoll {

/// The sizes of a published model (KD-GAT, graphids/config/models).
enum class ModelPreset : uint8_t { small, large, old_teacher };
template <>
inline constexpr auto kWords<ModelPreset> = std::to_array<std::string_view>({"small", "large",
                                                                             "old_teacher"});

}  // namespace plimsoll
