#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/rank_watch.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// An Exchange over a process group of torch (c10d), with tensors in the memory of the CPU: gloo. Groups are
/// made by Python, as torch's wheel has no headers of gloo; `name` is torch.distributed's for the group.
///
/// `who_is_lost` is called once where a call of the group fails, and says which rank is gone, and why as far
/// as that is known. `watch` learns what this rank does, and outlives the Exchange; null: nobody watches.
/// Errors: Failure where there is no such group.
std::unique_ptr<Exchange> join_process_group(const std::string& name,
                                             std::function<std::string()> who_is_lost,
                                             RankWatch* watch = nullptr);

}  // namespace plimsoll
