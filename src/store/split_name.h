#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns whether a split is for training: the last part of its name begins with "train", as in
/// "hcrl_sa/train_01_attack_free".
inline bool is_training_split(const std::string& split) {
  const size_t slash = split.rfind('/');
  return std::string_view(split).substr(slash == std::string::npos ? 0 : slash + 1).starts_with("train");
}

}  // namespace plimsoll
