#pragma once

#include <string>

#include "device/device_choice.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Returns the index of the device for this rank: the one that `choice` names or, if several devices are
/// `visible` to this process, the number of lower ranks on this machine. `exchange` is null without ranks;
/// otherwise all ranks must call this, because they tell each other on which machine they are. Errors:
/// NoDevice if this rank would need a device beyond the visible ones; RankLost.
int index_of_rank(const DeviceChoice& choice, int visible, Exchange* exchange);

/// What a rank has opened, or is about to open.
struct RankDevice {
  std::string name;   ///< With its index, such as "cuda:0, NVIDIA H200"; "cpu": no GPU.
  std::string model;  ///< Such as "NVIDIA H200"; "cpu": no GPU.
  std::string id;     ///< Differs between the devices of a machine; empty: ranks may share the device.
};

/// Compares the devices of all ranks, which must all call this; does nothing if `exchange` is null. Errors:
/// UsageError if they are of different models, because these round differently; NoDevice if two ranks of one
/// machine have the same device; RankLost.
void require_own_devices(const RankDevice& mine, Exchange* exchange);

}  // namespace plimsoll
