#pragma once

#include "base/words.h"

namespace plimsoll {

/// The model in tasks on graphs, nodes and values: `gnn`, or a model of `paths`.
enum class ModelKind : uint8_t { gnn, sgmp, gtmp };
template <>
inline constexpr auto kWords<ModelKind> = std::to_array<std::string_view>({"gnn", "sgmp", "gtmp"});

/// Where the mean and scale of targets come from if init_from is set.
enum class TargetScaleSource : uint8_t { data, model };
template <>
inline constexpr auto kWords<TargetScaleSource> = std::to_array<std::string_view>({"data", "model"});

}  // namespace plimsoll
