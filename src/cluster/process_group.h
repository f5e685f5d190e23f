#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/rank_watch.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Returns an Exchange over a process group of torch (c10d) whose tensors are in CPU memory (gloo). Python
/// makes the group, because torch's wheel has no headers of gloo; `name` is its name in torch.distributed.
///
/// `describe_lost_rank` is called once if a call of the group fails. It returns which rank is gone and, if
/// known, why. The Exchange reports the activity of this rank to `watch`, which must outlive it; null
/// disables this. Errors: Failure if the group does not exist.
std::unique_ptr<Exchange> join_process_group(const std::string& name,
                                             std::function<std::string()> describe_lost_rank,
                                             RankWatch* watch = nullptr);

}  // namespace plimsoll
